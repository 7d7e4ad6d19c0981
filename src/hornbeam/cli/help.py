"""The help of a verb, in lines as wide as the window: what it does, its arguments, its flags by group."""

import shutil
import textwrap
from typing import Any

from typer.core import TyperCommand

__all__ = ["Verb"]

_WIDEST = 110
_INDENT = 30  # of what is said about a flag, where the window has room for it


class Verb(TyperCommand):
    """A verb whose flags are listed under the panels they were declared with, in the order declared."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        width = min(_WIDEST, shutil.get_terminal_size().columns)
        about = [" ".join(part.split()) for part in (self.help or "").split("\n\n")]
        given = [_shown(one)[0] for one in self.get_params(ctx) if one.param_type_name == "argument"]
        lines = [f"Usage: {' '.join([ctx.command_path, *given])} [FLAGS]"]
        for part in about:
            lines += ["", *textwrap.wrap(part, width)]
        for title, parameters in self._panels(ctx).items():
            lines += ["", *textwrap.wrap(f"{title}:", width)]
            for parameter in parameters:
                lines += _entry(*_shown(parameter), width)
        formatter.write("\n".join(lines) + "\n")

    def _panels(self, ctx: Any) -> dict[str, list[Any]]:
        panels: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            if getattr(parameter, "hidden", False):
                continue
            usual = "Arguments" if parameter.param_type_name == "argument" else "Flags"
            panels.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(parameter)
        return panels


def _shown(parameter: Any) -> tuple[str, str]:
    """Return how a parameter is written, and its help."""
    said = parameter.help or ""
    if parameter.param_type_name == "argument":
        return parameter.metavar or parameter.name.upper(), said
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    takes_value = not (getattr(parameter, "is_flag", False) or parameter.name == "help")
    if takes_value:
        names += f" {parameter.metavar or 'VALUE'}"
    if parameter.required:
        said += " Required."
    elif takes_value and parameter.default not in (None, ()) and not callable(parameter.default):
        said += f" Default: {parameter.default}."
    return names, said


def _entry(names: str, said: str, width: int) -> list[str]:
    """Write what a flag is called, and beside or below it what it does."""
    indent = min(_INDENT, width // 3)
    lines = textwrap.wrap(said, max(20, width - indent)) or [""]
    head = f"  {names}"
    if len(head) + 2 <= indent:
        return [head.ljust(indent) + lines[0], *(" " * indent + line for line in lines[1:])]
    heads = textwrap.wrap(
        names, width, initial_indent="  ", subsequent_indent="      ", break_long_words=False
    )
    return [*heads, *(" " * indent + line for line in lines if line)]
