"""The architecture holds: the includes between folders of the core, the imports, the menu of the site."""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from hornbeam import RandomForestClassifier
from hornbeam.declare import estimators

REPOSITORY = Path(__file__).resolve().parent.parent
CORE = REPOSITORY / "cpp"
PACKAGE = REPOSITORY / "src" / "hornbeam"
DOCS = REPOSITORY / "docs"
TESTS = REPOSITORY / "tests"

# The rooms of the core, each with those it may include; docs/walk.md draws the same arrows.
TABLE_AND_TREE = {"base", "data", "tree"}
GROWING = {*TABLE_AND_TREE, "criterion", "split"}
ROOMS = {
    "base": set(),
    "data": {"base"},
    "tree": {"base"},
    "criterion": {"base"},
    "split": {"base", "data", "criterion"},
    "grow": GROWING,
    "boost": {*GROWING, "grow"},
    "stumps": {*GROWING, "grow"},
    "density": TABLE_AND_TREE,
    "prune": TABLE_AND_TREE,
    "predict": TABLE_AND_TREE,
    "explain": {*TABLE_AND_TREE, "predict"},
    "neighbors": {"base"},
    "simd": {*GROWING, "grow", "boost", "explain", "predict", "neighbors"},
}
ROOMS["bindings"] = set(ROOMS) - {"simd"}  # the loops are found through the rooms they belong to
# Folders within a room, each with those of the same room that it may not include.
WITHIN = {
    "boost/histogram": {"boost/grow", "boost/parts"},
    "boost/grow": {"boost/parts"},
}

# The parts of the package from the ground up; a part may import what stands on an earlier line, nothing else.
LAYERS = (
    (
        "_core",
        "_optional",
        "crowds",
        "errors",
        "impurity",
        "memory",
        "pseudo_votes",
        "sklearn_bases",
        "warnings",
    ),
    ("disk", "sums", "tables"),
    ("data", "datasets", "declare", "threads"),
    ("model", "neighborhood", "params"),
    ("recipes",),
    ("line_search", "training_sets"),
    ("bootstrap", "inside"),
    ("baseline", "estimators"),
    ("dask", "distill", "small_trees", "io", "plot"),
    ("exports", "selection"),
    ("imports",),
    ("report", "serving"),
    ("course", "story"),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
# Within estimators, likewise.
METHODS = (
    ("columns_known", "memory_needed", "together"),
    ("explained", "first_members", "from_source", "recorded", "sequenced"),
    ("counterfactuals", "importances"),
    ("inspection",),
    ("base",),
    ("answers", "growth", "row_scores", "validation"),
    ("linear", "neighbors", "tree"),
    ("adaboost", "boosting", "forest"),
    ("sharing",),
    ("stacking",),
    ("blend",),
)

# What an estimator can do beyond fitting and predicting is done by functions that it calls, not by bases.
MOST_CLASSES = 10

# What a reader can take in: the lines of a file, the files of a folder, a decision on one screen.
MOST_LINES = 500
MOST_FILES = 25
LINES_ON_A_SCREEN = 50

# Where the tests are of parts of the package, and of rooms of the core, that have none of their own name.
TESTED_IN = {
    "baseline": "selection/test_compare.py",
    "crowds": "lectures/test_numbers.py",
    "errors": "catalogue/test_parameters.py",
    "impurity": "lectures/test_numbers.py",
    "line_search": "lectures/test_numbers.py",
    "model": "predict/test_front.py",
    "neighborhood": "estimators/test_neighbors.py",
    "pseudo_votes": "forests/test_smoothing.py",
    "recipes": "estimators",  # and forests, boosting: a recipe is what its estimator does
    "sklearn_bases": "test_params.py",
    "small_trees": "lectures/test_numbers.py",
    "sums": "estimators/test_order_and_company.py",
    "tables": "test_datasets.py",
    "training_sets": "lectures/test_numbers.py",
    "warnings": "catalogue/test_tables.py",
}
ROOMS_TESTED_IN = {
    "base": "core/test_allocations.py",
    "bindings": "core/test_hardening.py",
    "boost": "core/test_booster.py",
    "criterion": "estimators/test_criteria.py",
    "data": "core/test_encode.py",
    "density": "estimators/test_density.py",
    "grow": "grow/test_grower.py",
    "simd": "boosting/test_instruction_sets.py",
    "split": "estimators/test_categorical_splits.py",
    "tree": "core/test_hardening.py",
}
# The fast lanes of growth, each with the file of its code, which has tests of the same name.
LANES = {
    "RankLane": "rank_block",
    "SmallSubtreeLane": "small_subtree",
    "ValueLane": "value_block",
    "RandomLane": "random_nodes",
    "SubtreeLane": "subtree",
}
METHODS_TESTED_IN = {
    "adaboost": "adaboost",
    "boosting": "boosting",
    "forest": "forests",
    "tree": "trees",
}


def core_files() -> list[Path]:
    files = sorted([*CORE.rglob("*.h"), *CORE.rglob("*.cpp")])
    if not files:
        pytest.skip("the sources of the core are not here")
    return files


def room_of(path: Path) -> str:
    return path.relative_to(CORE).parts[0]


def test_every_folder_of_the_core_is_a_room() -> None:
    assert {room_of(path) for path in core_files()} == set(ROOMS)


def test_the_rooms_of_the_core_include_only_what_lies_below_them() -> None:
    upward = []
    for path in core_files():
        room = room_of(path)
        for named in re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            beside = path.parent / named
            target = room_of(beside) if beside.exists() else named.split("/")[0]
            if target not in {room, *ROOMS[room]}:
                upward.append(f"{path.relative_to(CORE)} includes {named}")
    assert not upward, upward


def included(path: Path) -> Iterator[Path]:
    """Yield the files of the core that a file of it includes."""
    for named in re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
        yield next(place for place in (path.parent / named, CORE / named) if place.exists())


def test_folders_within_a_room_include_only_what_lies_below_them() -> None:
    upward = []
    for path in core_files():
        forbidden = WITHIN.get(path.parent.relative_to(CORE).as_posix(), set())
        for target in included(path):
            if target.parent.relative_to(CORE).as_posix() in forbidden:
                upward.append(f"{path.relative_to(CORE)} includes {target.relative_to(CORE)}")
    assert not upward, upward


def test_files_of_the_core_do_not_include_each_other_in_a_circle() -> None:
    TopologicalSorter({path: set(included(path)) for path in core_files()}).prepare()


def test_a_file_of_the_core_speaks_in_the_namespace_of_its_room() -> None:
    # Loops per instruction set have a namespace within the one of the room they work for.
    strangers = []
    for path in core_files():
        parts = path.relative_to(CORE).parts
        room = parts[1] if parts[0] == "simd" and len(parts) > 2 else parts[0]
        expected = "hornbeam" if room in {"base", "simd"} else f"hornbeam::{room}"
        opened = re.findall(r"^namespace (hornbeam[\w:]*) \{", path.read_text(encoding="utf-8"), re.MULTILINE)
        sets = {
            expected,
            *(f"{expected}::{name}" for name in ("HORNBEAM_KERNELS", "baseline", "avx2", "avx512")),
        }
        if not set(opened) <= sets:
            strangers.append(f"{path.relative_to(CORE)}: {opened}")
    assert not strangers, strangers


def test_a_namespace_of_the_core_has_each_name_once() -> None:
    """Two types of one name break the one-definition rule, which compilers do not notice."""
    places: dict[tuple[str, str], set[str]] = {}
    for path in core_files():
        text = re.sub(r"(?ms)^namespace \{$.*?^\}  // namespace$", "", path.read_text(encoding="utf-8"))
        space = ""
        types = r"^(?:struct|class|enum class) (?:alignas\([^)]*\) )?(\w+)(?: final)?(?: : [^;{]*)? \{"
        for found in re.finditer(rf"(?m)^namespace ([\w:]+) \{{|{types}", text):
            if found[1]:
                space = found[1]
            else:
                places.setdefault((space, found[2]), set()).add(path.relative_to(CORE).as_posix())
    assert len(places) > 300
    assert [f"{name}: {sorted(files)}" for name, files in places.items() if len(files) > 1] == []


def imported(path: Path, prefix: str) -> Iterator[str]:
    """Yield what comes after the prefix in the imports of a file, the late ones included."""
    for node in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == prefix.rstrip("."):
            names = [prefix + alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        else:
            continue
        for name in names:
            if name == "hornbeam" and prefix == "hornbeam.":
                yield "__init__"
            elif name.startswith(prefix):
                yield name.removeprefix(prefix).split(".")[0]


def imports_against(layers: tuple[tuple[str, ...], ...], folder: Path, prefix: str) -> list[str]:
    height = {part: number for number, parts in enumerate(layers) for part in parts}
    found = []
    for path in sorted(folder.rglob("*.py")):
        part = path.relative_to(folder).parts[0].removesuffix(".py")
        if part == "__init__" and prefix != "hornbeam.":
            continue
        for target in imported(path, prefix):
            # What the package offers by name, such as hornbeam.load, is the package itself.
            goal = target if target in height or prefix != "hornbeam." else "__init__"
            if part != goal and height[part] <= height[goal]:
                found.append(f"{path.relative_to(folder)} imports {target}")
    return found


def test_every_part_of_the_package_has_its_layer() -> None:
    parts = {
        path.name.split(".")[0] for path in PACKAGE.iterdir() if path.name not in {"py.typed", "__pycache__"}
    }
    assert parts == {part for parts in LAYERS for part in parts}


def test_imports_point_downward() -> None:
    assert imports_against(LAYERS, PACKAGE, "hornbeam.") == []


def test_imports_between_the_estimators_point_downward() -> None:
    assert imports_against(METHODS, PACKAGE / "estimators", "hornbeam.estimators.") == []


def has_tests(name: str, elsewhere: dict[str, str], *places: str) -> bool:
    """Whether tests of this name are in one of the folders, or are where the table says."""
    own = [TESTS / place / path for place in places for path in (name, f"test_{name}.py")]
    return any(path.exists() for path in own) or (name in elsewhere and (TESTS / elsewhere[name]).exists())


def test_every_part_has_tests() -> None:
    parts = {part.strip("_") for parts in LAYERS for part in parts} - {"init", "main"}
    without = [part for part in sorted(parts) if not has_tests(part, TESTED_IN, ".")]
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    assert [part for part in without if not any(f"hornbeam.{part}" in text for text in texts)] == []
    rooms = [room for room in sorted(ROOMS) if not has_tests(room, ROOMS_TESTED_IN, "core", ".")]
    assert rooms == []
    methods = {path.parent.name for path in (PACKAGE / "estimators").glob("*/__init__.py")}
    assert [name for name in sorted(methods) if not has_tests(name, METHODS_TESTED_IN, "estimators")] == []


def test_every_lane_of_growth_has_tests_of_its_own_name() -> None:
    core_files()
    lanes = (CORE / "grow" / "fast" / "lanes.h").read_text(encoding="utf-8")
    assert set(re.findall(r"\b(\w+Lane)<S>", lanes)) == set(LANES)
    for name in LANES.values():
        assert (CORE / "grow" / "fast" / f"{name}.h").exists(), name
        assert (TESTS / "grow" / f"test_{name}.py").exists(), name


def sources() -> list[Path]:
    files = [*core_files(), *PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")]
    return sorted(path for path in files if "__pycache__" not in path.parts)


def test_files_are_short() -> None:
    long = {
        path.relative_to(REPOSITORY).as_posix(): n_lines
        for path in sources()
        if (n_lines := len(path.read_bytes().splitlines())) > MOST_LINES
    }
    assert long == {}


def test_folders_are_small() -> None:
    counts = Counter(path.parent.relative_to(REPOSITORY).as_posix() for path in sources())
    assert [f"{folder}: {n} files" for folder, n in counts.items() if n > MOST_FILES] == []


def test_a_decision_fits_on_a_screen_and_leaves_measurements_to_notes() -> None:
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= LINES_ON_A_SCREEN, path.name
        assert "**Measured" not in text, path.name
    for path in (DOCS / "notes").glob("*.md"):
        assert re.search(r"(?m)^Measured .*\b20\d\d\b", path.read_text(encoding="utf-8")), path.name


def modules_of(folder: Path, prefix: str) -> dict[str, set[str]]:
    """Tell for every file of a folder which files beside it it imports, late imports included."""
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return {name: (set(imported(folder / f"{name}.py", prefix)) & names) - {name} for name in sorted(names)}


PACKAGES = [PACKAGE, *sorted({path.parent for path in PACKAGE.rglob("__init__.py")} - {PACKAGE})]


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_files_of_a_folder_do_not_import_in_a_circle(folder: Path) -> None:
    prefix = ".".join(folder.relative_to(PACKAGE.parent).parts) + "."
    TopologicalSorter(modules_of(folder, prefix)).prepare()  # which raises CycleError


def test_imports_in_a_circle_are_found(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("from hornbeam.inside import words\n")
    (tmp_path / "words.py").write_text("def f():\n    from hornbeam.inside.rules import write_rules\n")
    graph = modules_of(tmp_path, "hornbeam.inside.")
    assert graph == {"rules": {"words"}, "words": {"rules"}}
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def test_the_core_takes_arrays_where_numbers_may_be_read() -> None:
    """What is read or written where it lies is an InPlace; a bare array is read by views, or goes out."""
    bare = [
        line.strip()
        for path in sorted((CORE / "bindings").rglob("*.[ch]*"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if "nb::ndarray<" in line and "nb::ndarray<nb::numpy" not in line
    ]
    assert bare == [
        "using AnyColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;",
        "using AnyTable = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;",
    ]


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_an_estimator_is_made_of_few_classes(cls: type) -> None:
    ours = [base.__name__ for base in cls.__mro__ if base.__module__.startswith("hornbeam")]
    assert len(ours) <= MOST_CLASSES, ours


@pytest.mark.parametrize("name", ["fit", "predict_proba"])
@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_fitting_and_predicting_are_found_in_the_file_of_the_estimator(cls: type, name: str) -> None:
    if hasattr(cls, name):
        assert inspect.getfile(inspect.unwrap(getattr(cls, name))) == inspect.getfile(cls)


@pytest.mark.parametrize("name", ["fit", "predict_proba", "predict_set", "importance"])
def test_what_a_forest_does_is_found_in_its_file(name: str) -> None:
    method = inspect.unwrap(getattr(RandomForestClassifier, name))
    assert Path(inspect.getfile(method)) == PACKAGE / "estimators" / "forest" / "forest.py"


def test_an_import_against_the_arrows_is_found(tmp_path: Path) -> None:
    for part in ("io", "selection"):
        (tmp_path / part).mkdir()
    (tmp_path / "io" / "linear.py").write_text("def f():\n    from hornbeam.selection import tune\n")
    (tmp_path / "selection" / "trials.py").write_text(
        "import hornbeam\nfrom hornbeam.io.native import packed\n"
    )
    found = imports_against(LAYERS, tmp_path, "hornbeam.")
    assert found == ["io/linear.py imports selection", "selection/trials.py imports __init__"]


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", (REPOSITORY / "mkdocs.yml").read_text(), re.MULTILINE)
    made = {"reference.md", "api.md"}  # written while the site is built
    # The course lies in the package, which docs/course points to.
    pages = [*DOCS.rglob("*.md"), *DOCS.glob("course/*.md")]
    assert sorted(menu) == sorted({path.relative_to(DOCS).as_posix() for path in pages} | made)


def test_every_decision_is_in_the_list_of_decisions() -> None:
    listed = re.findall(
        r"\((\d\d-[\w-]+\.md)\)", (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    )
    assert sorted(listed) == sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))
