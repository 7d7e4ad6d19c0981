"""The mistakes people make at the command line: an exit code, one line that helps, and nothing written."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest

from hornbeam.cli.main import run

GOOD = "a,b,y\n" + "1,red,no\n2,blue,yes\n3,red,yes\n" * 4
DAMAGED_FILES = {
    "empty": (b"", "is empty"),
    "blank line": (b"\n", "is empty"),
    "header only": (b"a,b,y\n", "has no rows"),
    "target only": (b"y\n1\n2\n", "has no columns beside y"),
    "short row": (
        b"a,b,y\n1,red,no\n2,blue\n",
        "line 3 has 2 cell(s), but there are 3 columns: '2",
    ),
    "long row": (b"a,b,y\n1,red,no\n2,blue,yes,4\n", "line 3 has 4 cell(s), but there are 3 columns"),
    "ragged after a cell of two lines": (b'"a\nb",y\n"1\n2",no\n\n\n3\n', "line 7 has 1 cell(s)"),
    "ragged between empty lines": (b"\xef\xbb\xbfa,y\r\n1,no\r\n\r\n2,no,3\r\n", "line 4 has 3 cell(s)"),
    "a line without end": (b"a,y\n" + b"1" * 2**25 + b",no\n", "a line is longer than 16 MB"),
    "a first line without end": (b"a" * 2**25, "the first line is longer than 16 MB"),
    "latin-1 further down": (b"a,y\n1,no\n" + "2,j\xe1\n".encode("latin-1"), "is not in UTF-8"),
    "compressed, under another name": (b"\x1f\x8b\x08\x00\x00\x00", "data.csv"),
    "open quote": (b'a,y\n1,no\n"2,yes\n3,no\n', "line 3 has 1 cell(s), but there are 2 columns"),
    "open quote, said so": (b'a,y\n1,no\n"2,yes\n3,no\n', "Is a quote not closed?"),
    "open quote in the last column": (
        b'a,y\n1,no\n2,"yes\n3,no\n4,yes\n',
        "a quote is not closed; the cell that begins with 'yes' goes on to the end of the file",
    ),
    "open quote, no last line break": (b'a,y\n1,no\n2,"yes\n3,no', "a quote is not closed"),
    "open quote in a number": (b'y,a\nno,1\nyes,"2\nno,3\n', "a quote is not closed"),
    "open quote in the first line": (b'a,"y\n1,no\n', "a quote in the first line is not closed"),
    "a ragged row in latin-1": (b"a,y\n1,no\n" + "2,j\xe1,3\n".encode("latin-1"), "is not in UTF-8"),
    "two columns of a name": (b"a,a,y\n1,2,no\n", "two columns are called a"),
    "no name": (b"a,,y\n1,2,no\n", "column 2 has no name"),
    "latin-1": ("a,b,y\n1,r\xf6t,no\n".encode("latin-1"), "is not in UTF-8"),
    "utf-16": (GOOD.encode("utf-16"), "is not in UTF-8"),
    "NUL": (b"a\0,b,y\n1,2,no\n", "NUL"),
    "decimal comma": (
        b'a,y\n"1,5",no\n"2,5",yes\n',
        "Column a holds numbers with a decimal comma",
    ),
    "nan": (b"a,y\n1.5,no\nnan,yes\n", "--na nan"),
    "an unusual separator": (b"a~b~y\n1~red~no\n", "If that should be several, see --separator"),
    "carriage returns and line feeds": (b"a,y\r1,2\n3,4\n", "cannot be read as names of columns"),
    "a workbook": (b"PK\x03\x04 and more", "is a ZIP archive, perhaps an Excel workbook"),
    "an old workbook": (b"\xd0\xcf\x11\xe0 and more", "is an Excel workbook of the old kind"),
    "JSON that is broken": (b'{"a": 1}\n{"a": \n', "after row 1, is not JSON"),
    "JSON of numbers": (b'[{"y": 1}, 2]', "a row must be an object"),
    "JSON that is nested": (b'{"a": [1], "y": 2}\n', "row 1: a holds [1]"),
    "JSON of several kinds": (b'{"a": 1, "y": 2}\n{"a": "x", "y": 2}\n', "a holds values of several kinds"),
    "target missing": (b"a,b,y\n1,red,no\n2,blue,\n", "The target y is empty in data row 2"),
    "no Parquet": (b"PAR1 but then nothing of the kind", "data.csv: "),
}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(GOOD)
    return path


@pytest.fixture
def model(data, capsys):
    path = data.with_name("model.hornbeam")
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "--out", str(path)]) == 0
    capsys.readouterr()
    return path


def complaint(arguments, capsys, *, code):
    """Run a command that must fail; return its one line."""
    assert run([str(argument) for argument in arguments]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("hornbeam: "), printed.err
    return lines[0]


@pytest.mark.parametrize("kind", list(DAMAGED_FILES))
def test_fit_refuses_damaged_data(kind, data, capsys):
    content, words = DAMAGED_FILES[kind]
    data.write_bytes(content)
    assert words in complaint(["fit", data, "--target", "y", "--method", "tree"], capsys, code=1)
    assert [path.name for path in data.parent.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "nowhere.csv", "--target", "y"], "nowhere.csv: No such file"),
        (["fit", "DATA", "--target", "z"], "There is no column z for --target. The columns are: a, b, y."),
        (["fit", "DATA", "--target", "Y"], "Did you mean 'y'?"),
        (
            ["fit", "FOLDER", "--target", "y"],
            "is a folder: name a file with a table. In it is, for example, data.csv.",
        ),
        (["fit", ".", "--target", "y"], ". is a folder"),
        (["fit", "DATA", "--target", "y", "--out", "DATA"], "is the input"),
        (["fit", "DATA", "--target", "y", "--out", "FOLDER"], "is a folder"),
        (["fit", "DATA", "--target", "y", "--out", "MODEL"], "exists: give --force"),
        (["fit", "DATA", "--target", "y", "--out", "FOLDER/no/such/m"], "No such file"),
        (["fit", "DATA", "--target", "y", "--task", "regression"], "y holds texts, such as no."),
        (["compare", "DATA", "--target", "y", "--task", "regression"], "y holds texts, such as no."),
        (["tune", "DATA", "--target", "y", "--task", "regression"], "y holds texts, such as no."),
        (["evaluate", "MODEL", "DATA", "--target", "a"], "a is a column that the model predicts from"),
        (["report", "MODEL", "DATA", "--target", "a"], "a is a column that the model predicts from"),
        (["predict", "nowhere.hornbeam", "DATA"], "nowhere.hornbeam: No such file"),
        (["predict", "DATA", "DATA"], "data.csv"),
        (["predict", "MODEL", "MODEL"], "model.hornbeam"),
        (["predict", "MODEL", "DATA", "--out", "DATA"], "is the input"),
        (["predict", "MODEL", "DATA", "--out", "MODEL"], "is the input"),
        (["evaluate", "MODEL", "DATA", "--target", "z"], "There is no column z"),
        (["evaluate", "MODEL", "nowhere.csv", "--target", "y"], "No such file"),
        (["fit", "DATA", "--target", "y", "--drop", "c"], "There is no column c for --drop"),
        (["fit", "DATA", "--target", "y", "--id", "aa"], "There is no column aa for --id. Did you mean 'a'?"),
        (["predict", "MODEL", "DATA", "--id", "name"], "There is no column name for --id"),
        (["show", "MODEL", "--tree", "7"], "There is no tree 7"),
        (["show", "MODEL", "--explain", "DATA", "--row", "99"], "has 12 rows: there is no row 99"),
        (["export", "MODEL", "--out", "MODEL"], "is the input"),
        (["compare", "nowhere.csv", "--target", "y"], "nowhere.csv: No such file"),
        (["compare", "DATA", "--target", "z"], "There is no column z"),
        (["compare", "DATA", "--target", "y", "--out", "DATA"], "is the input"),
        (["compare", "DATA", "--target", "y", "--out", "MODEL"], "exists: give --force"),
        (["compare", "DATA", "--target", "y", "--method", "forrest"], "Did you mean 'forest'?"),
        (["compare", "DATA", "--target", "y", "--scoring", "acuracy"], "Did you mean 'accuracy'?"),
        (["compare", "DATA", "--target", "y", "--folds", "99"], "from 2 to the 12 row(s)"),
        (["tune", "nowhere.csv", "--target", "y"], "nowhere.csv: No such file"),
        (["tune", "DATA", "--target", "z"], "There is no column z"),
        (["tune", "DATA", "--target", "y", "--scoring", "acuracy"], "acuracy"),
        (["tune", "DATA", "--target", "y", "--out", "DATA"], "is the input"),
        (["tune", "DATA", "--target", "y", "--method", "neighbors", "--grid", "n-neighbors=99"], "99"),
        (["show", "MODEL", "--splits", "DATA", "--target", "y", "--node", "99"], "There is no node 99"),
        (["show", "MODEL", "--ask", "--tree", "1"], "There is no tree 1"),
        (["demo", "--data", "nowhere.csv", "--target", "y"], "nowhere.csv: No such file"),
    ],
)
def test_mistakes_in_data_and_files(arguments, words, data, model, capsys):
    before = model.read_bytes(), data.read_bytes()
    places = {"DATA": str(data), "MODEL": str(model), "FOLDER": str(data.parent)}
    filled = [places.get(part, part.replace("FOLDER/", f"{data.parent}/")) for part in arguments]
    assert words in complaint(filled, capsys, code=1)
    assert (model.read_bytes(), data.read_bytes()) == before
    assert sorted(path.name for path in data.parent.iterdir()) == ["data.csv", "model.hornbeam"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "DATA"], "--target"),
        (["fit", "--target", "y"], "DATA"),
        (["fitt", "DATA"], "fitt"),
        (["fit", "DATA", "--target", "y", "--max-dept", "3"], "--max-dept"),
        (["fit", "DATA", "--target", "y", "--num-leaves", "3"], "Here it is called --max-leaf-nodes"),
        (["fit", "DATA", "--target", "y", "--method", "treee"], "Did you mean 'tree'?"),
        (["fit", "DATA", "--target", "y", "--max-depth", "many"], "--max-depth: max_depth must be"),
        (["fit", "DATA", "--target", "y", "--max-depth", "-1"], "--max-depth: max_depth must be"),
        (["fit", "DATA", "--target", "y", "--criterion", "ginni"], "Did you mean 'gini'?"),
        (["fit", "DATA", "--target", "y", "--method", "tree", "--n-estimators", "9"], "n_estimators"),
        (["fit", "DATA", "--target", "y", "--task", "guessing"], "--task"),
        (["fit", "DATA", "--target", "y", "--separator", "ab"], "--separator"),
        (["fit", "-", "--target", "y"], "--out"),
        (["fit", "DATA", "--target", "y", "--out"], "--out"),
        (["predict", "MODEL"], "DATA"),
        (["show", "MODEL", "--row", "0"], "--row"),
        (["show", "MODEL", "--rules", "poem"], "--rules"),
        (
            ["export", "MODEL", "--format", "excel"],
            "--format must be onnx, sql, c, python, json, pmml, dot or text; got",
        ),
        (["compare", "DATA"], "--target"),
        (["compare", "DATA", "--target", "y", "--folds", "1"], "--folds"),
        (["compare", "DATA", "--target", "y", "--time-budget", "soon"], "--time-budget"),
        (["compare", "DATA", "--target", "y", "--task", "guessing"], "--task"),
        (["tune", "DATA", "--target", "y", "--grid", "max-depth"], "--grid 'max-depth': write an option"),
        (["tune", "DATA", "--target", "y", "--grid", "max_dept=2"], "Did you mean 'max_depth'?"),
        (["tune", "DATA", "--target", "y", "--grid", "max_depth=2,many"], "max_depth must be"),
        (["tune", "DATA", "--target", "y", "--choose", "worst"], "--choose"),
        (["fit", "DATA", "--target", "y", "--encoding", "utf-99"], "--encoding 'utf-99' is not known"),
        (["fit", "DATA", "--target", "y", "--encoding", "base64"], "--encoding 'base64' is not known"),
        (["fit", "DATA", "--target", "y", "--decimal", ";"], "--decimal must be . or a comma"),
        (
            ["fit", "DATA", "--target", "y", "--members", "tree"],
            "--members is an option of --method stacking",
        ),
        (
            ["fit", "DATA", "--target", "y", "--method", "stacking", "--members", "treee"],
            "Did you mean 'tree'?",
        ),
        (["predict", "MODEL", "DATA", "--separator", ""], "--separator must be one character"),
        (["demo", "--data", "DATA"], "--data and --target go together"),
    ],
)
def test_wrong_calls(arguments, words, data, model, capsys):
    places = {"DATA": str(data), "MODEL": str(model)}
    assert words in complaint([places.get(part, part) for part in arguments], capsys, code=2)


def test_a_model_asks_for_the_columns_it_was_fitted_on(data, model, capsys):
    data.write_text("a,c\n1,2\n")
    line = complaint(["predict", model, data], capsys, code=1)
    assert "The data lack the column b, which the model was fitted on." in line


def test_a_failure_in_the_middle_leaves_no_output(data, model, tmp_path, capsys):
    out = tmp_path / "predictions.csv"
    data.write_text(GOOD + "1,red,no,4\n")
    assert "line 14 has 4 cell(s)" in complaint(["predict", model, data, "--out", out], capsys, code=1)
    assert not out.exists() and not list(tmp_path.glob(".*"))


def test_a_ragged_row_of_standard_input_is_counted_among_the_rows(model, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((GOOD + "1\n").encode())))
    assert "data row 13 has 1 cell(s)" in complaint(["predict", model, "-"], capsys, code=1)


def test_an_open_quote_at_standard_input_is_told(model, monkeypatch, capsys):
    text = GOOD + '1,red,"no\n2,blue,yes\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert "a quote is not closed" in complaint(
        ["fit", "-", "--target", "y", "--out", model, "--force"], capsys, code=1
    )


def test_closed_quotes_may_hold_line_breaks_at_the_end_and_single_ones_inches(data, capsys):
    data.write_text('a,b\n1,"x\n"\n2,5" disk\n1,"x\ny"\n')
    assert run(["fit", str(data), "--target", "a", "--task", "classification", "--method", "tree"]) == 0
    assert capsys.readouterr().err == ""


def test_asking_a_forest_needs_a_tree(data, capsys):
    forest = data.with_name("forest.hornbeam")
    assert run(["fit", str(data), "--target", "y", "--n-estimators", "3", "--out", str(forest)]) == 0
    capsys.readouterr()
    assert "say which with --tree N" in complaint(["show", forest, "--ask"], capsys, code=1)
    assert "is not a single tree" in complaint(
        ["show", forest, "--splits", data, "--target", "y"], capsys, code=1
    )


@pytest.fixture
def hears_ctrl_c():
    """A shell that starts tests in the background has them ignore Ctrl-C, and so their children."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("verb", ["fit", "compare"])
@pytest.mark.parametrize("pause", [0, 0.7], ids=["at once", "while it waits"])
def test_ctrl_c_ends_a_command_and_leaves_nothing(verb, pause, tmp_path):
    pipe, out = tmp_path / "data.csv", tmp_path / "m.hornbeam"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "hornbeam", verb, str(pipe), "--target", "y", "--out", str(out)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    with open(pipe, "wb") as writer:  # opens when the command has begun to read
        writer.write(GOOD.encode())
        writer.flush()
        time.sleep(pause)  # by then Arrow waits for more, in a thread that hears no signals
        child.send_signal(signal.SIGINT)
        printed = child.communicate(timeout=30)
    assert child.returncode == 130 and b"Traceback" not in printed[1]
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_force_replaces_an_output(data, model, capsys):
    arguments = ["fit", str(data), "--target", "y", "--method", "tree", "--out", str(model)]
    assert run([*arguments, "--force"]) == 0
    assert "Saved as" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + GOOD.encode(), GOOD.replace("\n", "\r\n").encode()])
def test_a_byte_order_mark_and_windows_line_ends_are_no_mistake(content, data, model, capsys):
    data.write_bytes(content)
    out = data.with_name("again.hornbeam")
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "--out", str(out)]) == 0
    assert out.read_bytes() == model.read_bytes()


def test_text_among_numbers_is_told_and_can_be_called_missing(data, capsys):
    data.write_text(GOOD + "?,red,yes\n")
    arguments = ["fit", str(data), "--target", "y", "--method", "tree", "--force"]
    assert run(arguments) == 0
    assert "Column a is taken as text, because of '?' among its numbers." in capsys.readouterr().err
    assert run([*arguments, "--na", "?"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("place", [0, 3])
def test_text_among_numbers_is_told_wherever_it_stands(place, data, capsys):
    """The first cell alone decided: a column that begins with N/A was taken as text without a word."""
    cells = ["1", "2", "3", "4", "5", "6"]
    cells.insert(place, "N/A")
    data.write_text("a,y\n" + "".join(f"{cell},{row % 2}\n" for row, cell in enumerate(cells)))
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "--task", "classification"]) == 0
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "Column a is taken as text, because of 'N/A' among its numbers." in told


def test_a_warning_is_printed_once(data, capsys):
    """A forest is fitted, judged and asked: each of these said that there is one class only."""
    data.write_text("a,y\n" + "1,no\n2,no\n" * 20)
    assert run(["fit", str(data), "--target", "y", "--method", "boosting"]) == 0
    assert capsys.readouterr().err.count("holds one class only") == 1


def test_escape_sequences_in_names_do_not_reach_the_terminal(data, capsys):
    data.write_text("a\x1b[31m,y\n1,no\n")
    assert "\x1b" not in complaint(["fit", data, "--target", "z"], capsys, code=1)
