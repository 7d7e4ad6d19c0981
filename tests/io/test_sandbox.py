"""Loading opens one file and does nothing else; neither it nor saving depends on the surroundings."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_files import SAMPLES

import hornbeam as hb

Samples = Callable[[str], tuple[Any, Any]]


def run_script(script: str, *arguments: object, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_audit_hook_sees_one_file_opened_and_nothing_else(samples: Samples, tmp_path: Path) -> None:
    """Whether a file is good or bad: no import, no code compiled or run, no process, no second file."""
    for name in SAMPLES:
        hb.save(samples(name)[0], tmp_path / f"{name}.hornbeam")
        hb.save(samples(name)[0], tmp_path / f"{name}-only.hornbeam", predict_only=True)
    good = (tmp_path / "kinds.hornbeam").read_bytes()
    (tmp_path / "cut.bad").write_bytes(good[:-1])
    (tmp_path / "flipped.bad").write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    (tmp_path / "pickle.bad").write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR." + bytes(200))
    script = """
        import sys
        import hornbeam as hb
        # Our own code comes in when something is first loaded.
        import hornbeam.io
        # The members that are not ours; a file can ask for these modules and no others.
        import sklearn.linear_model, sklearn.pipeline, sklearn.preprocessing, hornbeam.estimators.linear
        events = []
        watching = False
        def hook(event, arguments):
            if event == "open" and isinstance(arguments[0], int):
                return  # a Python object for a file that is open already
            if watching:
                events.append((event, str(arguments[0]) if event == "open" else ""))
        sys.addaudithook(hook)
        for path in sys.argv[1:]:
            events.clear()
            watching = True
            try:
                hb.load(path)
                refused = False
            except hb.errors.ModelFormatError:
                refused = True
            watching = False
            assert refused == path.endswith(".bad"), path
            assert events == [("open", path)], (path, events)
        # The hook does see things.
        watching = True
        open(path).close()
        exec("1 + 1")
        watching = False
        print(*(event for event, _ in events[1:]))
    """
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 2 * len(SAMPLES) + 3
    assert run_script(script, *paths).split() == ["open", "compile", "exec"]


def test_77_a_decimal_comma_changes_nothing(samples: Samples, tmp_path: Path) -> None:
    compiled = (
        subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")],
            check=False,
            capture_output=True,
        )
        if sys.platform == "linux"
        else None
    )
    if compiled is None or compiled.returncode != 0:
        pytest.skip("no locale with a decimal comma can be made here")
    model, _ = samples("kinds_numbers")
    hb.save(model, tmp_path / "here")
    script = """
        import locale, sys
        import hornbeam as hb
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        assert locale.format_string("%.1f", 1.5) == "1,5"
        hb.save(hb.load(sys.argv[1] + "/here"), sys.argv[1] + "/there")
    """
    run_script(script, tmp_path, LOCPATH=str(tmp_path), LC_ALL="de_DE.UTF-8")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_sets_are_saved_in_the_same_order_by_every_process(tmp_path: Path) -> None:
    script = """
        import sys
        import pandas as pd
        import hornbeam as hb
        columns = {"alpha": [1, 2, 1, 2], "beta": [1, 1, 2, 2], "gamma": [1, 2, 2, 1], "delta": [2, 2, 1, 1]}
        frame = pd.DataFrame(columns)
        model = hb.DecisionTreeRegressor(categorical_features=set(columns)).fit(frame, [1, 2, 3, 4])
        hb.save(model, sys.argv[1])
    """
    for seed in ("1", "2", "3"):
        run_script(script, tmp_path / seed, PYTHONHASHSEED=seed)
    assert len({(tmp_path / seed).read_bytes() for seed in ("1", "2", "3")}) == 1
