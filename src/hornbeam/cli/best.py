"""`hornbeam best`: from a table and the name of its target to the best model of the family."""

import sys
from typing import Annotated, Any

import typer

import hornbeam as hb
from hornbeam.cli.compare import RandomSeed
from hornbeam.cli.models import notes_of
from hornbeam.cli.outputs import AsJson, Force, check_output, print_result, write_output
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import Data
from hornbeam.cli.reading.targets import Target, TaskChoice, read_learning_rows, task_for
from hornbeam.inside.words import named, printable
from hornbeam.io.native import packed

__all__ = ["best"]


@reads_tables
def best(
    data: Data,
    *,
    target: Target,
    task: TaskChoice = None,
    time_budget: Annotated[
        float | None,
        typer.Option(
            "--time-budget", metavar="SECONDS", help="Models that are not finished by then are left out."
        ),
    ] = None,
    random_state: RandomSeed = 0,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Save the model.")] = None,
    force: Force = False,
    json: AsJson = False,
    form: TableFormat,
) -> None:
    """Fit the best model of the family: boosting, forests, neighbours and a linear model, blended."""
    if out is not None:
        check_output(out, force=force, inputs=[data])
    X, y = read_learning_rows(data, target, form)
    model = hb.best(
        X,
        y,
        task=task_for(y, target, task),
        time_budget=time_budget,
        random_state=random_state,
        verbose=sys.stderr.isatty(),
    )
    if out is not None:
        write_output(out, packed(model, notes=notes_of(data, target, form)))
    facts = {"members": model.members_, "verdict": model.verdict_, "failures": model.failures_, "saved": out}
    print_result(_Shown(model, out), facts, as_json=json, out=out)


class _Shown:
    """The members of a blend and the verdict, for a terminal."""

    def __init__(self, model: Any, out: str | None) -> None:
        self._model = model
        self._out = out

    def __rich__(self) -> Any:
        from rich.console import Group  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        from hornbeam.selection.sheets import Sheet  # noqa: PLC0415 - only who prints pays for its import

        metric = self._model.metric_
        rows = [
            [
                named(record["member"]),
                f"{record[metric]:.4g}",
                f"{100 * record['weight']:.0f} %" if record["weight"] else "",
                f"{record['adds']:.2g}" if record["weight"] else "",
                f"{record['seconds']:.2g}",
            ]
            for record in self._model.members_
        ]
        unused = frozenset(n for n, record in enumerate(self._model.members_) if not record["weight"])
        lines: list[Any] = [
            Sheet(["member", metric, "weight", "adds", "seconds"], rows, dim_rows=unused),
            Text(),
            Text(self._model.verdict_),
        ]
        lines += [
            Text(f"{named(name)}: {printable(why, 300)}") for name, why in self._model.failures_.items()
        ]
        if self._model.simple_tree_ is not None:
            lines += [Text(), Text(self._model.simple_tree_.rules())]
        if self._out is not None:
            lines.append(Text(f"Saved as {printable(self._out, None)}."))
        return Group(*lines)
