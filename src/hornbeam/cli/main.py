"""The command `hornbeam`: its verbs, its exit codes and its error messages.

Exit codes: 0; 1 for a mistake in the data or the files; 2 for a wrong call; 130 after Ctrl-C, 141 if the
reader of the output has gone, 143 after a request to terminate. An error is one line on standard error, never
a traceback; a bug of ours keeps its traceback, for the report.
"""

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import hornbeam as hb
from hornbeam.cli import (
    best,
    compare,
    course,
    demo,
    evaluate,
    explain,
    export,
    fit,
    predict,
    report,
    serve,
    show,
    story,
    tune,
)
from hornbeam.cli.help import Verb
from hornbeam.cli.mistakes import Mistake, forget_notes, note, one_line
from hornbeam.declare.hints import NAMES_ELSEWHERE
from hornbeam.warnings import HornbeamWarning

__all__ = ["main", "run"]

MISTAKE, WRONG_CALL, INTERRUPTED, CLOSED_PIPE, TERMINATED = 1, 2, 130, 141, 143

# The base of what the parser raises; typer has moved it about, its heir BadParameter is where it always was.
WrongCall: Any = typer.BadParameter.__base__


class Verbs(TyperGroup):
    """The verbs; keeps the parser from answering Ctrl-C and closed pipes in its own way."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            raise SystemExit(CLOSED_PIPE) from None


app = typer.Typer(
    name="hornbeam",
    cls=Verbs,
    help="Decision trees and everything built from them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo", cls=Verb)(demo.main)
app.command("fit", cls=Verb)(fit.fit)
app.command("predict", cls=Verb)(predict.predict)
app.command("evaluate", cls=Verb)(evaluate.evaluate)
app.command("compare", cls=Verb)(compare.compare)
app.command("best", cls=Verb)(best.best)
app.command("tune", cls=Verb)(tune.tune)
app.command("show", cls=Verb)(show.show)
app.command("explain", cls=Verb)(explain.explain)
app.command("report", cls=Verb)(report.report)
app.command("story", cls=Verb)(story.story)
app.command("course", cls=Verb)(course.course)
app.command("export", cls=Verb)(export.export)
app.command("serve", cls=Verb)(serve.serve)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hornbeam {hb.__version__}")
        raise typer.Exit


@app.callback()
def verbs(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Decision trees and everything built from them."""


def main() -> None:
    """Run the command line and end the process."""
    signal.signal(signal.SIGTERM, _end_in_good_order)
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = CLOSED_PIPE
    if code == CLOSED_PIPE:  # nothing more can be said; the interpreter must not try when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code != 0:
        _leave_at_once(code)


def _leave_at_once(code: int) -> None:
    """End the process without tearing the interpreter down.

    A command that broke off may have left a thread of Arrow's in the middle of a read. Python would end that
    thread when it next asks for the interpreter, which C++ takes for a crash: the process aborts.
    """
    sys.stderr.flush()
    os._exit(code)


def _end_in_good_order(*_: Any) -> None:
    raise SystemExit(TERMINATED)  # so that temporary files are removed on the way out


def run(arguments: Sequence[str]) -> int:
    """Run one verb and return the exit code."""
    forget_notes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", HornbeamWarning)
        warnings.showwarning = _show_warning
        try:
            code = app(args=list(arguments), prog_name="hornbeam", standalone_mode=False)
        except WrongCall as error:
            return _complain(_about_call(error), WRONG_CALL)
        except (Mistake, ValueError, OSError, MemoryError, ModuleNotFoundError) as error:
            return _complain(_about(error), MISTAKE)
        except SystemExit as error:
            return error.code if isinstance(error.code, int) else _complain(str(error.code), MISTAKE)
    return code if isinstance(code, int) else 0


def _complain(sentence: str, code: int) -> int:
    print(f"hornbeam: {one_line(sentence)}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    note(f"warning: {message}")  # once: a verb that judges its model fits several times


def _about(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}."
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)  # without the number that the system has for it
    return str(error) or type(error).__name__


def _about_call(error: Any) -> str:
    """Say what is wrong with a call; translate flags of other libraries."""
    unknown = str(getattr(error, "option_name", ""))
    name = unknown.removeprefix("--").replace("-", "_")
    if type(error).__name__ == "NoSuchOption" and name in NAMES_ELSEWHERE:
        return f"No such option: {unknown}. Here it is called --{NAMES_ELSEWHERE[name].replace('_', '-')}."
    return str(error.format_message())


if __name__ == "__main__":
    main()
