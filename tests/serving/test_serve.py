"""A real server, asked over a real socket."""

import io
import json
import re
import signal
import socket
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from serving_load import Served, example, load
from sklearn.base import clone

import hornbeam as hb
from hornbeam.cli.main import run
from hornbeam.serving.rows import ARROW, BadRequest, RowReader, schema_of

JSON = {"Content-Type": "application/json"}


def frame(n=120):
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "area": draw.normal(size=n).round(2),
            "heating": draw.choice(["gas", "oil", "<b>"], n),
            "flag": pd.Categorical(draw.choice([True, False], n)),
            "rooms": pd.Categorical(draw.choice([1, 2, 3], n)),
        }
    )


@pytest.fixture(scope="module")
def model():
    table = frame()
    y = np.where((table["area"] > 0) ^ (table["heating"] == "gas"), "yes", "no")
    return hb.RandomForestClassifier(10, random_state=0).fit(table, y)


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    hb.save(model, folder / "m.hornbeam")
    (folder / "report.html").write_text("<p>the report</p>")
    served = Served(
        folder / "m.hornbeam", "--report", str(folder / "report.html"), "--max-body", "1", "--timeout", "2"
    )
    yield served
    served.stop()


ROW = {"area": 0.5, "heating": "gas", "flag": True, "rooms": 2}


def ask(server, document, **headers):
    status, _, body = server.ask("POST", "/predict", json.dumps(document), **{**JSON, **headers})
    return status, json.loads(body)


@pytest.mark.filterwarnings("ignore")
def test_one_row(server, model):
    table = pd.DataFrame([ROW])
    status, found = ask(server, ROW)
    assert status == 200
    assert found["prediction"] == model.predict(table)[0]
    shares = dict(zip(["no", "yes"], model.predict_proba(table)[0].tolist(), strict=True))
    assert found["probabilities"] == shares


@pytest.mark.filterwarnings("ignore")
def test_many_rows_in_every_form(server, model):
    table = frame()
    plain = json.loads(table.to_json(orient="records"))
    expected = model.predict_proba(table)
    for document in (plain, {"rows": plain}, [list(row.values()) for row in plain]):
        status, found = ask(server, document)
        assert status == 200
        assert found["predictions"] == model.predict(table).tolist()
        assert found["classes"] == ["no", "yes"]
        np.testing.assert_array_equal(found["probabilities"], expected)


@pytest.mark.filterwarnings("ignore")
def test_arrow_in_and_out(server, model):
    table = frame()
    plain = pa.table({name: table[name].astype(object).tolist() for name in reversed(table.columns)})
    sink = io.BytesIO()
    with ipc.new_stream(sink, plain.schema) as writer:
        writer.write_table(plain)
    status, headers, body = server.ask(
        "POST", "/predict", sink.getvalue(), **{"Content-Type": ARROW, "Accept": ARROW}
    )
    assert (status, headers["content-type"]) == (200, ARROW)
    found = ipc.open_stream(body).read_all()
    assert found.column_names == ["prediction", "probability_no", "probability_yes"]
    assert found["prediction"].to_pylist() == model.predict(table).tolist()
    np.testing.assert_array_equal(found["probability_yes"].to_numpy(), model.predict_proba(table)[:, 1])


def test_null_is_missing_and_new_categories_are_answered(server):
    assert ask(server, dict.fromkeys(ROW))[0] == 200
    assert ask(server, {**ROW, "heating": "wood", "rooms": 9})[0] == 200


@pytest.mark.parametrize(
    ("document", "field", "words"),
    [
        ({**ROW, "area": "big"}, "area", '"big" is not a number or null'),
        ({**ROW, "heating": 3}, "heating", "3 is not a text or null"),
        ({**ROW, "flag": "yes"}, "flag", "is not true, false or null"),
        ({**ROW, "rooms": True}, "rooms", "true is not a number or null"),
        ({**ROW, "area": [1]}, "area", r"\[1\] is not a number"),
        ({**ROW, "area": 10**400}, "area", "too large"),
        ({k: v for k, v in ROW.items() if k != "rooms"}, "rooms", "lacks the field rooms"),
        ({**ROW, "colour": 1}, "colour", "which the model does not know"),
        ([ROW, {**ROW, "area": "x"}], "area", "Row 1, field area"),
    ],
)
def test_errors_name_the_field(server, document, field, words):
    status, found = ask(server, document)
    assert status == 422
    assert found["field"] == field
    assert re.search(words, found["error"])


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("{", 400, "not JSON"),
        ('{"area": NaN}', 400, "NaN is not a number; null"),
        ("[" * 100_000, 400, "not JSON"),
        ("[]", 422, "not empty"),
        ("3", 422, "Give one row"),
        ("[[1]]", 422, "1 values; the model has 4 columns"),
    ],
)
def test_bodies_that_are_no_rows(server, body, status, words):
    found = server.ask("POST", "/predict", body, **JSON)
    assert found[0] == status
    assert words in json.loads(found[2])["error"]


def test_limits(server):
    big = server.ask("POST", "/predict", b" " * (2**20 + 1), **JSON)
    assert big[0] == 413
    status, _, body = server.ask("POST", "/predict", "a,b", **{"Content-Type": "text/csv"})
    assert (
        status == 415
        and "declares its body as text/csv; rows come as application/json" in json.loads(body)["error"]
    )
    assert server.ask("POST", "/predict", b"no arrow", **{"Content-Type": ARROW})[0] == 400
    assert server.ask("GET", "/predict")[0] == 405
    # A client that promises a body and does not send it is told so, after the two seconds of this server.
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as slow:
        slow.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        begin = time.monotonic()
        assert b" 503 " in slow.recv(4096)
        assert 1.5 < time.monotonic() - begin < 15


def test_another_host_is_refused(server):
    assert server.ask("GET", "/health", Host="evil.example")[0] == 400


def test_what_there_is(server):
    schema = json.loads(server.ask("GET", "/schema")[2])
    assert [column["name"] for column in schema["columns"]] == ["area", "heating", "flag", "rooms"]
    assert schema["columns"][1]["categories"] == ["<b>", "gas", "oil"]
    assert schema["classes"] == ["no", "yes"]
    assert server.ask("GET", "/")[2] == b"<p>the report</p>"
    assert json.loads(server.ask("GET", "/health")[2]) == {"status": "ok"}


def test_metrics_count(server):
    def count():
        text = server.ask("GET", "/metrics")[2].decode()
        rows = re.search(r"^hornbeam_rows_total (\d+)$", text, re.MULTILINE)
        good = re.search(
            r'^hornbeam_requests_total\{path="/predict",status="200"\} (\d+)$', text, re.MULTILINE
        )
        inf = re.search(r'^hornbeam_predict_seconds_bucket\{le="\+Inf"\} (\d+)$', text, re.MULTILINE)
        return [int(one[1]) if one else 0 for one in (rows, good, inf)]

    before = count()
    ask(server, [ROW] * 7)
    assert [after - one for after, one in zip(count(), before, strict=True)] == [7, 1, 1]


def test_fifty_clients_lose_nothing(tmp_path):
    model, rows, expected = example()
    hb.save(model, tmp_path / "m.hornbeam")
    server = Served(tmp_path / "m.hornbeam")
    try:
        times, faults = load(server.port, rows, expected, seconds=1.0)
        assert faults == []
        assert len(times) >= 50
        assert b"GradientBoostingClassifier" in server.ask("GET", "/")[2]
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=20) in (0, 130)
    finally:
        server.process.kill()
        server.process.wait()
        server.process.stderr.close()


def test_the_page_escapes_names():
    from hornbeam.serving.page import page_of

    table = pd.DataFrame({"<script>alert(1)</script>": np.arange(8.0), "k": ["</pre><img src=x>", "b"] * 4})
    model = hb.DecisionTreeClassifier().fit(table, [0, 1] * 4)
    assert "<script>" not in page_of(model, schema_of(model)) and "<img" not in page_of(
        model, schema_of(model)
    )


def test_columns_without_names():
    model = hb.DecisionTreeRegressor().fit(np.arange(8.0).reshape(4, 2), np.arange(4.0))
    reader = RowReader(schema_of(model))
    np.testing.assert_array_equal(reader.from_json(b"[[1, null], [2, 3]]").table, [[1, np.nan], [2, 3]])
    with pytest.raises(BadRequest, match="lacks the field x1"):
        reader.from_json(b'{"x0": 1}')


def test_a_model_that_is_not_there(capsys):
    assert run(["serve", "no-such-file.hornbeam"]) == 1
    assert "no-such-file.hornbeam" in capsys.readouterr().err


@pytest.mark.parametrize(
    "model",
    [
        hb.BaggingClassifier(hb.DecisionTreeClassifier(max_bins=6), 3, max_features=3, random_state=0),
        hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=2, prune="pessimistic"), n_estimators=3),
        hb.StackingClassifier([[("one", hb.DecisionTreeClassifier(max_depth=2))]]),
        hb.BlendClassifier([("one", hb.DecisionTreeClassifier(max_depth=2, random_state=0))]),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_members_know_the_columns_together(model):
    table = frame()
    fitted = clone(model).fit(table, table["area"] > 0)
    schema = schema_of(fitted)
    assert schema.given_names == tuple(table.columns)
    assert schema.categories[1] == ("<b>", "gas", "oil")
    rows = RowReader(schema).from_json(json.dumps([ROW, {**ROW, "heating": "oil"}]).encode())
    np.testing.assert_array_equal(
        fitted.predict_proba(rows.table), fitted.predict_proba(pd.DataFrame([ROW, {**ROW, "heating": "oil"}]))
    )
    with pytest.raises(BadRequest, match="field heating: 3 is not a text or null"):
        RowReader(schema).from_json(json.dumps({**ROW, "heating": 3}).encode())
