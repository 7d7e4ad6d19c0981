"""Tables for a terminal, of any width, in which no number is ever cut.

If a window is too narrow for all columns, those that do not fit go below, in blocks of their own that repeat
the columns that identify a row. A pipe counts as 80 columns wide, or as COLUMNS says.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

__all__ = ["Sheet", "as_text"]

_GAP = 2  # between columns


@dataclass(frozen=True)
class Sheet:
    """Titles and rows of texts: the first `n_keys` columns say what a row is about, `left` are no numbers."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_keys: int = 1
    left: frozenset[int] = frozenset({0})
    dim_rows: frozenset[int] = frozenset()
    dim_columns: frozenset[int] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """Yield one block, or as many as the window needs."""
        for number, columns in enumerate(self._blocks(options.max_width)):
            if number:
                yield Text()
            yield self._block(columns)

    def _blocks(self, width: int) -> list[list[int]]:
        """Share out the columns, in order: as many to a block as fit beside the keys."""
        widths = [_GAP + self._width(column) for column in range(len(self.titles))]
        room = width + _GAP - sum(widths[: self.n_keys])
        blocks: list[list[int]] = [[]]
        left = room
        for column in range(self.n_keys, len(widths)):
            if blocks[-1] and widths[column] > left:
                blocks.append([])
                left = room
            blocks[-1].append(column)
            left -= widths[column]
        return blocks

    def _width(self, column: int) -> int:
        lines = self.titles[column].split("\n")
        return max(Text(text).cell_len for text in (*lines, *(row[column] for row in self.rows)))

    def _block(self, columns: Sequence[int]) -> Table:
        table = Table(box=None, header_style="bold", padding=(0, _GAP, 0, 0), pad_edge=False)
        shown = (*range(self.n_keys), *columns)
        for column in shown:
            table.add_column(
                Text(self.titles[column]),
                justify="left" if column in self.left else "right",
                style="dim" if column in self.dim_columns else "",
                overflow="fold",  # where even one number is too wide for the window, it goes on below
            )
        for number, row in enumerate(self.rows):
            cells = (Text(row[column]) for column in shown)
            table.add_row(*cells, style="dim" if number in self.dim_rows else "")
        return table


def as_text(shown: Any, width: int = 120) -> str:
    """Return what a terminal of some width would show, without colours and spaces at the ends of lines."""
    text = io.StringIO()
    Console(file=text, width=width, highlight=False, color_system=None).print(shown)
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().splitlines())
