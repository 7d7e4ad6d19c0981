"""Optional packages: imported on demand, and a missing one says what to install."""

import sys
from pathlib import Path

import pytest

from hornbeam._optional import require


def test_returns_the_module() -> None:
    assert require("pandas", purpose="This test") is sys.modules["pandas"]
    assert require("matplotlib.figure", purpose="This test") is sys.modules["matplotlib.figure"]


@pytest.mark.parametrize(("package", "extra"), [("matplotlib", "plot"), ("polars", "frames")])
def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch, package: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError) as caught:
        require(package, purpose="Drawing a tree")
    assert str(caught.value) == (
        f"Drawing a tree needs {package}, which is not installed: pip install hornbeam[{extra}]"
    )


def test_a_broken_package_speaks_for_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("import a_part_that_is_missing\n")
    monkeypatch.delitem(sys.modules, "pyarrow", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_part_that_is_missing"):
        require("pyarrow", purpose="Reading Parquet")


def test_only_declared_packages() -> None:
    with pytest.raises(KeyError, match="numpy"):
        require("numpy", purpose="This test")
