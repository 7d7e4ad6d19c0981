"""The examples of the documentation run, page by page, from top to bottom, in an empty folder."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
DOCS = REPOSITORY / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)

# Pages whose examples are fragments: they show the shape of a thing, not a run.
FRAGMENTS = {"model-format.md", "walk.md"}
DRAWN = "pictures.md"  # runs where its pictures are drawn, below
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in [*DOCS.glob("*.md"), *DOCS.glob("howto/*.md")]
    if path.name not in {*FRAGMENTS, DRAWN} and BLOCK.search(path.read_text(encoding="utf-8"))
)


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_page_run(name, tmp_path):
    blocks = BLOCK.findall((DOCS / name).read_text(encoding="utf-8"))
    script = tmp_path / "page.py"
    script.write_text("import matplotlib\nmatplotlib.use('Agg')\n" + "\n".join(blocks), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(script)],
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert result.returncode == 0, result.stderr


def site_pages():
    spec = importlib.util.spec_from_file_location("site_pages", REPOSITORY / "tools" / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_drawn():
    page = (DOCS / DRAWN).read_text(encoding="utf-8")
    drawn = dict(site_pages().pictures())
    assert list(drawn) == re.findall(r"\(pictures/(\w+)\.svg\)", page)
    assert all(picture.rstrip().endswith(b"</svg>") for picture in drawn.values())
    for name in PAGES:  # the methods show some of them
        assert set(re.findall(r"\(pictures/(\w+)\.svg\)", (DOCS / name).read_text("utf-8"))) <= set(drawn)


def test_every_story_is_written():
    page = (DOCS / "story.md").read_text(encoding="utf-8")
    written = dict(site_pages().stories())
    assert sorted(written) == sorted(re.findall(r"\(stories/(\w+)\.html\)", page))
    assert all(text.startswith("<!doctype html>") for text in written.values())


@pytest.mark.parametrize("method", ["trees", "forests", "adaboost", "boosting", "stacking", "neighbours"])
def test_the_page_of_a_method_has_its_parts(method):
    page = (DOCS / f"{method}.md").read_text(encoding="utf-8")
    assert re.search(r"^##+ (The arithmetic|On a small table)$", page, re.MULTILINE)
    assert re.search(r"^## When$", page, re.MULTILINE)
    assert re.search(r"^!\[.+\]\(pictures/", page, re.MULTILINE)


def test_the_reference_has_every_parameter():
    import hornbeam as hb
    from hornbeam.declare import options_of

    text = site_pages().reference()
    section = text.split("## RandomForestClassifier\n")[1].split("\n## ")[0]
    for name, option in options_of(hb.RandomForestClassifier).items():
        assert f"| `{name}` | " in section and option.help.replace("|", "\\|").replace("<", "&lt;") in section


def test_the_reference_of_methods_has_every_public_method_and_command():
    import hornbeam as hb
    from hornbeam.declare import estimators

    text = site_pages().api()
    for kind in estimators():
        section = text.split(f"### {kind.__name__}\n")[1].split("\n### ")[0]
        for name in ("fit", "predict", "score_samples", "apply", "rules", "contributions"):
            assert (f"**`{name}(" in section) == callable(getattr(kind, name, None)), (kind, name)
    assert "| `oob_score_` | " in text.split("### RandomForestClassifier\n")[1].split("\n### ")[0]
    for function in ("compare", "tune", "save", "load", "report"):
        assert f"`{function}({'path' if function == 'load' else ''}" in text
    for name in hb.plot.__all__:
        assert f"### {name}\n" in text
    for command in ("fit", "predict", "evaluate", "compare", "serve"):
        assert f"### hornbeam {command}\n" in text
