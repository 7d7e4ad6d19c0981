"""Trees in the DOT language of graphviz: a box per node, an arrow per branch."""

from collections.abc import Iterator

from hornbeam.inside.nodes import TreeReading

__all__ = ["dot_of"]


def dot_of(estimator: str, readings: list[TreeReading]) -> str:
    """Write trees as one digraph, each in a cluster of its own if there are several."""
    lines = [f"digraph {_quoted(estimator)} {{", '  node [shape=box, fontname="sans-serif"];']
    for number, reading in enumerate(readings):
        inside = list(_tree_lines(number, reading))
        if len(readings) > 1:
            inside = [
                f"  subgraph cluster_{number} {{",
                f"    label={_quoted(f'tree {number}')};",
                *(f"  {line}" for line in inside),
                "  }",
            ]
        lines += inside
    return "\n".join([*lines, "}", ""])


def _tree_lines(number: int, reading: TreeReading) -> Iterator[str]:
    for node, _, parent, branch in reading.walk():
        rows = reading.row_words(node)
        if reading.branches(node):
            lines = [reading.test_words(node), f"{rows}: {reading.share_words(node)}"]
            style = "rounded"
        else:
            lines = [reading.answer_words(node), f"{rows}: {reading.share_words(node)}"]
            style = "bold"
        yield f"  t{number}_n{node} [label={_quoted(*lines)}, style={style}];"
        if parent >= 0:
            is_two_way = len(reading.branches(parent)) == 2
            text = ("yes", "no")[branch] if is_two_way else reading.branch_words(parent, branch)
            yield f"  t{number}_n{parent} -> t{number}_n{node} [label={_quoted(text)}];"


def _quoted(*lines: str) -> str:
    """Write lines of text as one string of DOT; in it only quotes and backslashes have a meaning."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
