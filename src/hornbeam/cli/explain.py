"""`hornbeam explain`: from a model file and a table to the reasons for the prediction of one row."""

from typing import Annotated, Any

import numpy as np
import typer

from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import ModelFile, load_model, model_columns, model_name
from hornbeam.cli.outputs import AsJson, print_json
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import read_table
from hornbeam.inside.words import count, printable

__all__ = ["explain", "explained_row", "words_of"]


@reads_tables
def explain(
    model: ModelFile,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table with the columns of the fit.")],
    *,
    row: Annotated[
        int, typer.Option("--row", metavar="N", help="Which row of the table, from 1.", min=1)
    ] = 1,
    json: AsJson = False,
    form: TableFormat,
) -> None:
    """Explain the prediction for one row: in two sentences, then with the contribution of each column."""
    loaded = load_model(model, form)
    explanation = explained_row(loaded.fitted, data, row, loaded.form)
    if not json:
        typer.echo(words_of(explanation))
        return
    facts = {"estimator": model_name(loaded.fitted), "row": row}
    if isinstance(explanation, dict):  # a stack: its members, by name
        print_json({**facts, "members": {name: _plain(one) for name, one in explanation.items()}})
    else:
        print_json({**facts, **_plain(explanation)})


def words_of(explanation: Any) -> str:
    """Write an explanation for people; for a stack, that of each member."""
    if isinstance(explanation, dict):
        return "\n\n".join(f"{printable(name)}: {words_of(one)}" for name, one in explanation.items())
    return f"{explanation.text}\n\n{explanation}"


def _plain(explanation: Any) -> dict[str, Any]:
    """Return an explanation as plain values."""
    facts = {"prediction": explanation.prediction, "text": explanation.text}
    parts = getattr(explanation, "contributions", None)
    if parts is not None:
        facts["start"] = np.asarray(explanation.start).tolist()
        facts["contributions"] = {str(name): np.asarray(part).tolist() for name, part in parts.items()}
    return facts


def explained_row(model: Any, data: str, row: int, form: TableFormat) -> Any:
    """Explain one row of a table, counted from 1."""
    if not hasattr(model, "explain"):
        raise Mistake(f"{model_name(model)} is not made of trees: it cannot explain a single row.")
    table = model_columns(model, read_table(data, form))
    if row > table.num_rows:
        raise Mistake(f"{printable(data, None)} has {count(table.num_rows, 'row')}: there is no row {row}.")
    return model.explain(table.slice(row - 1, 1).to_pylist()[0])
