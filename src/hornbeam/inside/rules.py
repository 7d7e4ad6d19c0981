"""A tree as rules: turns a `TreeReading` into an indented tree, lines, code, `Rule`s or formulas."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hornbeam.declare.kinds import did_you_mean, joined
from hornbeam.inside import words
from hornbeam.inside.conditions import Condition
from hornbeam.inside.formula import formulas
from hornbeam.inside.nodes import TreeReading

__all__ = ["Rule", "RuleStyle", "rule_code", "rule_lines", "rule_list", "rule_text", "write_rules"]

RuleStyle = Literal["text", "list", "lines", "formula", "code"]

# Deeper nodes are not indented further; their depth is written instead.
DEEPEST_INDENT = 12
INDENT = "|   "


def write_rules(reading: TreeReading, style: RuleStyle) -> Any:
    """Write a tree as rules in one of the five styles."""
    writers = {
        "text": rule_text,
        "list": rule_list,
        "lines": rule_lines,
        "formula": formulas,
        "code": rule_code,
    }
    writer = writers.get(style) if isinstance(style, str) else None
    if writer is None:
        known = joined(map(repr, writers), "or")
        hint = did_you_mean(str(style), writers)
        raise ValueError(f"style must be {known}; got {words.printable(repr(style))}. {hint}".rstrip())
    return writer(reading)


# --- The indented tree -----------------------------------------------------------------------------------


def rule_text(reading: TreeReading) -> str:
    """Write a tree a line per node, indented by depth: the test that leads to it, its rows and its answer."""
    places = reading.walk()
    lines = [_root_line(reading, next(places).node)]
    for node, depth, parent, branch in places:
        test = reading.branch_words(parent, branch)
        if branch == 0:
            lines += [f"{_margin(depth)}{line}" for line in _stand_ins(reading, parent)]
        lines.append(f"{_margin(depth)}{test}{_arrow(reading, node)} ({_grounds(reading, node)})")
    return "\n".join(lines)


def _stand_ins(reading: TreeReading, node: int) -> list[str]:
    """Write which tests decide where a row lacks the feature of a node."""
    texts = reading.surrogate_words(node)
    if not texts:
        return []
    last = reading.branch_words(node, reading.missing_branch(node))
    return [f"[without {reading.name_words[reading.feature(node)]}: {', else '.join(texts)}; else as {last}]"]


def _root_line(reading: TreeReading, root: int) -> str:
    if reading.branches(root):
        return _grounds(reading, root)
    return f"always {reading.answer_words(root)} ({_grounds(reading, root)})"


def _margin(depth: int) -> str:
    level = depth - 1  # the root stands alone on the first line
    if level <= DEEPEST_INDENT:
        return INDENT * level
    return f"{INDENT * DEEPEST_INDENT}[depth {depth:,}] "


def _arrow(reading: TreeReading, node: int) -> str:
    return "" if reading.branches(node) else f" -> {reading.answer_words(node)}"


def _grounds(reading: TreeReading, node: int) -> str:
    """Write the rows of a node and their answer, unless the answer of the leaf is already written."""
    rows = reading.row_words(node)
    if reading.branches(node):
        return f"{rows}: {reading.share_words(node)}"
    if not reading.classes:
        return rows
    is_pure = all(share == 1 for share in reading.answer_shares(node))
    return f"{rows}, 100 %" if is_pure else f"{rows}: {reading.share_words(node)}"


# --- Nested ifs ------------------------------------------------------------------------------------------


def rule_code(reading: TreeReading) -> str:
    """Write a tree as nested ifs, as lectures do; code that runs is `hb.export(model, "python")`."""
    places = reading.walk()
    root = next(places).node
    lines = [] if reading.branches(root) else [f"return {reading.answer_words(root)}"]
    for node, depth, parent, branch in places:
        last = branch == len(reading.branches(parent)) - 1
        margin = "    " * (depth - 1)
        test = reading.branch_words(parent, branch)
        word = "if" if branch == 0 else "else" if last else "elif"
        lines.append(f"{margin}else:  # {test}" if word == "else" else f"{margin}{word} {test}:")
        if not reading.branches(node):
            lines.append(f"{margin}    return {reading.answer_words(node)}  # {reading.row_words(node)}")
    return "\n".join(lines)


# --- One rule per leaf -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """The way to one leaf: all conditions met, then this prediction.

    `conditions` has one entry per feature the path tests. `shares` holds the class shares of the leaf and
    `share` that of the predicted class (a tuple of each if there are several outputs); a tree that predicts
    numbers has None in both. `rows` and `weight` are those of the training rows in the leaf, `node` is its
    number in `tree_`.
    """

    conditions: tuple[Condition, ...]
    prediction: Any
    rows: int
    weight: float
    share: Any
    shares: Any
    node: int
    outcome: str

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Whether a row, given as values by column name, meets all conditions."""
        return all(condition.holds(row[condition.feature]) for condition in self.conditions)

    def __str__(self) -> str:
        if not self.conditions:
            return f"always {self.outcome}"
        texts = [str(condition) for condition in self.conditions]
        if len(texts) > 1:
            texts = [f"({text})" if text.endswith(" or missing") else text for text in texts]
        return f"if {' and '.join(texts)} then {self.outcome}"

    def __repr__(self) -> str:
        return f"<Rule: {self}>"


def rule_list(reading: TreeReading) -> list[Rule]:
    """Return one rule per leaf, in the order of the tree."""
    return [
        _rule(reading, node, tuple(reading.condition(feature, passing) for feature, passing in path.items()))
        for node, path in reading.paths()
    ]


def rule_lines(reading: TreeReading) -> str:
    """Write one line per leaf, in the order of the tree."""
    return "\n".join(str(rule) for rule in rule_list(reading))


def _rule(reading: TreeReading, node: int, conditions: tuple[Condition, ...]) -> Rule:
    tables, shares = reading.shares(node), reading.answer_shares(node)
    has_one = len(tables) == 1
    percents = "".join(f", {words.percent(share)}" for share in shares)
    return Rule(
        conditions=conditions,
        prediction=reading.prediction(node),
        rows=reading.rows(node),
        weight=reading.weight(node),
        share=(shares[0] if has_one else shares) if tables else None,
        shares=(tables[0] if has_one else tables) if tables else None,
        node=node,
        outcome=f"{reading.answer_words(node)} ({reading.row_words(node)}{percents})",
    )
