"""The mistakes people make at the command line: an exit code, one line that helps, and nothing written."""

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
        "data row 2 has 2 cell(s), but there are 3 columns: '2",
    ),
    "long row": (b"a,b,y\n1,red,no\n2,blue,yes,4\n", "data row 2 has 4 cell(s), but there are 3 columns"),
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
    "semicolons": (b"a;b;y\n1;red;no\n", "If ';' separates the columns, say so with --separator"),
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
        (["fit", "FOLDER", "--target", "y"], "Is a directory"),
        (["fit", "DATA", "--target", "y", "--out", "DATA"], "is the input"),
        (["fit", "DATA", "--target", "y", "--out", "FOLDER"], "is a folder"),
        (["fit", "DATA", "--target", "y", "--out", "MODEL"], "exists: give --force"),
        (["fit", "DATA", "--target", "y", "--out", "FOLDER/no/such/m"], "No such file"),
        (["fit", "DATA", "--target", "y", "--task", "regression", "--method", "tree"], "y"),
        (["predict", "nowhere.hornbeam", "DATA"], "nowhere.hornbeam: No such file"),
        (["predict", "DATA", "DATA"], "data.csv"),
        (["predict", "MODEL", "MODEL"], "model.hornbeam"),
        (["predict", "MODEL", "DATA", "--out", "DATA"], "is the input"),
        (["predict", "MODEL", "DATA", "--out", "MODEL"], "is the input"),
        (["evaluate", "MODEL", "DATA", "--target", "z"], "There is no column z"),
        (["evaluate", "MODEL", "nowhere.csv", "--target", "y"], "No such file"),
        (["show", "MODEL", "--tree", "7"], "There is no tree 7"),
        (["show", "MODEL", "--explain", "DATA", "--row", "99"], "has 12 rows: there is no row 99"),
        (["export", "MODEL", "--out", "MODEL"], "is the input"),
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
        (["export", "MODEL", "--format", "onnx"], "not yet; there is json, dot and text"),
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
    assert "data row 13" in complaint(["predict", model, data, "--out", out], capsys, code=1)
    assert not out.exists() and not list(tmp_path.glob(".*"))


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


def test_escape_sequences_in_names_do_not_reach_the_terminal(data, capsys):
    data.write_text("a\x1b[31m,y\n1,no\n")
    assert "\x1b" not in complaint(["fit", data, "--target", "z"], capsys, code=1)
