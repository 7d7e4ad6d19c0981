"""How a table is to be read, as flags of every verb that reads one: `@reads_tables` puts them in.

A verb declares one parameter `form: TableFormat`; at the command line it becomes --separator, --decimal,
--encoding, --na, --drop and --id.
"""

import codecs
import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import typer

from hornbeam.inside.words import printable

__all__ = ["Data", "TableFormat", "listed", "reads_tables"]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A table: CSV, Parquet, Feather or lines of JSON; - reads standard input."
    ),
]

_PANEL = "How tables are read"


@dataclass(frozen=True)
class TableFormat:
    """How a table is to be read; None stands for anything not specified.

    `usual_separator` is what separates cells where the first lines do not tell. `text_columns` stay text,
    `number_columns` must be numbers.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: Sequence[str] | None = None
    drop: Sequence[str] = ()
    ids: Sequence[str] | None = None
    usual_separator: str = ","
    text_columns: Collection[str] = field(default_factory=frozenset)
    number_columns: Collection[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        mark = self.separator
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise typer.BadParameter(
                f"--separator must be one character, such as ';'; got {printable(mark)!r}. "
                "For a tab write $'\\t'."
            )
        if self.decimal not in (None, ".", ","):
            raise typer.BadParameter(f"--decimal must be . or a comma; got {printable(self.decimal)!r}.")
        if self.encoding is not None and not _is_text_encoding(self.encoding):
            raise typer.BadParameter(
                f"--encoding {printable(self.encoding)!r} is not known; say for example latin-1, cp1252 or "
                "utf-16."
            )

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes can be read as they are."""
        return self.encoding is None or codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")

    @property
    def decimal_mark(self) -> str:
        """What is between the units and the tenths of a number."""
        return self.decimal or "."

    def keeping_as_text(self, columns: Collection[str]) -> "TableFormat":
        """Leave further columns as they are written."""
        return replace(self, text_columns=frozenset(self.text_columns) | frozenset(columns))


def _is_text_encoding(name: str) -> bool:
    try:
        return bool(getattr(codecs.lookup(name), "_is_text_encoding", True))
    except (LookupError, ValueError):
        return False


def listed(given: Sequence[str] | None) -> list[str] | None:
    """Take apart what one flag names: it may be repeated, and hold several names with commas between."""
    if given is None:
        return None
    return [name for entry in given for part in entry.split(",") if (name := part.strip())]


_FLAGS: dict[str, Any] = {
    "separator": Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="CHAR",
            help="What separates CSV cells; found from the first lines if left out.",
            rich_help_panel=_PANEL,
        ),
    ],
    "decimal": Annotated[
        str | None,
        typer.Option(
            "--decimal",
            metavar="CHAR",
            help="The decimal mark of numbers: . or a comma.",
            rich_help_panel=_PANEL,
        ),
    ],
    "encoding": Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="The encoding of CSV that is not UTF-8, such as latin-1 or utf-16.",
            rich_help_panel=_PANEL,
        ),
    ],
    "na": Annotated[
        list[str] | None,
        typer.Option(
            "--na",
            metavar="TEXT",
            help="A text that means a missing value, like an empty cell; may be repeated.",
            rich_help_panel=_PANEL,
        ),
    ],
    "drop": Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="COLUMN,...", help="Columns to leave out.", rich_help_panel=_PANEL),
    ],
    "id": Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN,...",
            help="Columns that only identify a row: nothing is learned from them, and predictions repeat "
            "them.",
            rich_help_panel=_PANEL,
        ),
    ],
}


def reads_tables(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace a verb's parameter `form` by the flags that make it."""
    own = inspect.signature(verb)
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _FLAGS.items()
    ]
    others = [parameter for parameter in own.parameters.values() if parameter.name != "form"]
    rest = [parameter for parameter in others if parameter.kind is inspect.Parameter.VAR_KEYWORD]
    fixed = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in others
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]

    @functools.wraps(verb)
    def with_form(**arguments: Any) -> None:
        given = {name: arguments.pop(name, None) for name in _FLAGS}
        form = TableFormat(
            separator=given["separator"],
            decimal=given["decimal"],
            encoding=given["encoding"],
            missing=given["na"],
            drop=listed(given["drop"]) or (),
            ids=listed(given["id"]),
        )
        verb(form=form, **arguments)

    parameters = [*fixed, *flags, *rest]
    with_form.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_form.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_form
