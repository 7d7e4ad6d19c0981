"""Every file that the documentation names, or a comment or docstring, exists where it says."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").rglob("*.md"),
        *REPOSITORY.glob("benchmarks/**/*.md"),
    ]
    if path.name not in {"CHANGELOG.md"}  # it tells of what was
)
# Paths are given from the root, from the core, from the package, or from the page itself.
ROOTS = (REPOSITORY, REPOSITORY / "cpp", REPOSITORY / "src/hornbeam", REPOSITORY / "docs")
NAMED = re.compile(r"`([\w.*-]+(?:/[\w.*-]+)*(?:\.(?:h|cpp|py|pyi|md|toml|txt)|/))`")
BUILT = {"site/", "dist/"}  # what make writes
# A file of the core that a comment names: beside the one that names it, or by its folder.
REMARK = re.compile(r"//.*?((?:\w+/)*\w+\.(?:h|cpp))\b")


def exists(name: str, *roots: Path) -> bool:
    return any(any(root.glob(name.rstrip("/"))) for root in roots)


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_exist(page: str) -> None:
    path = REPOSITORY / page
    named = NAMED.findall(path.read_text(encoding="utf-8"))
    missing = sorted({name for name in named if name not in BUILT and not exists(name, *ROOTS, path.parent)})
    assert not missing, f"{page} names {missing}, which do not exist"


@pytest.mark.parametrize(("page", "most"), [("walk-tree", 8), ("walk-boosting", 8), ("walk-predicting", 6)])
def test_a_walk_is_short(page: str, most: int) -> None:
    text = (REPOSITORY / "docs" / f"{page}.md").read_text(encoding="utf-8")
    path = re.search(r"^The path from [^:]*, in (six|eight) files: (.*?)\.$", text, re.DOTALL | re.MULTILINE)
    assert path is not None
    assert len(NAMED.findall(path[2])) == {"six": 6, "eight": 8}[path[1]] == most


def test_the_files_that_comments_of_the_core_name_exist() -> None:
    core = REPOSITORY / "cpp"
    missing = []
    for path in sorted([*core.rglob("*.h"), *core.rglob("*.cpp")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            missing += [
                f"{path.relative_to(core)}: {name}"
                for name in REMARK.findall(line)
                if not exists(name, core, path.parent)
            ]
    assert not missing, missing


def remarks(path: Path) -> str:
    """Return the comments and docstrings of a Python file."""
    with path.open("rb") as file:
        found = [token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, documented)]
    return "\n".join([*found, *(ast.get_docstring(node) or "" for node in nodes)])


def test_the_files_that_docstrings_of_the_package_name_exist() -> None:
    package = REPOSITORY / "src" / "hornbeam"
    missing = []
    for path in sorted(package.rglob("*.py")):
        for name in re.findall(r"(?<![\w/.<])((?:\w+/)*\w+\.(?:py|h|cpp))\b", remarks(path)):
            # A file without a folder may be anywhere in the package: the text names its folder elsewhere.
            if not exists(name, *ROOTS, path.parent) and ("/" in name or not exists(f"**/{name}", package)):
                missing.append(f"{path.relative_to(package)}: {name}")
    assert not missing, missing
