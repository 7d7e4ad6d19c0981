"""Every file that the documentation, or a comment of the core, names exists where it says."""

import re
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
