"""Reports in a real browser: no complaint in its console, nodes that open, rows that can be followed.

Needs Chromium, its driver and selenium; `make test` installs them where it can. Without them these tests are
skipped, and say what is missing.
"""

import os
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import hornbeam as hb

HOSTILE = [
    "<script>window.broken = 1</script>",
    '"><img src=x onerror="window.broken = 1">',
    "</style>{{ 1 }}",
]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium of 1280 x 900 pixels."""
    selenium = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed: pip install hornbeam[dev]"
    )
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium with its driver: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = program
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--window-size=1280,900")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # A sanitizer that is loaded before this process is not for the browser.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    found = selenium.Chrome(options=options, service=selenium.ChromeService(driver, env=environment))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A large tree, a forest, and a table in which every name is an attack."""
    folder = tmp_path_factory.mktemp("reports")
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 4))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * generator.normal(size=2000)
    large = hb.DecisionTreeRegressor(max_leaf_nodes=1000).fit(X, y)
    hb.report(large, X, y, folder / "large.html", cv=None)
    cancer = load_breast_cancer(as_frame=True)
    kinds = pd.Series(cancer.target_names[cancer.target], name="diagnosis")
    forest = hb.RandomForestClassifier(n_estimators=3, random_state=0).fit(cancer.data, kinds)
    hb.report(forest, cancer.data, kinds, folder / "forest.html", cv=None)
    table = pd.DataFrame({name: generator.normal(size=90) for name in HOSTILE})
    table["category"] = np.resize(HOSTILE, 90)
    labels = pd.Series(
        np.where(table[HOSTILE[0]] > 0, np.resize(HOSTILE[:2], 90), HOSTILE[2]), name=HOSTILE[1]
    )
    hostile = hb.DecisionTreeClassifier(random_state=0).fit(table, labels)
    hb.report(hostile, table, labels, folder / "hostile.html", cv=2)
    diabetes = load_diabetes(as_frame=True)
    neighbours = hb.KNeighborsRegressor().fit(diabetes.data, diabetes.target)
    hb.report(neighbours, diabetes.data, diabetes.target, folder / "neighbours.html", cv=2)
    return {path.stem: path for path in folder.iterdir()}


def opened(browser, path):
    """Open a page; whatever it complains about in the console is a failure."""
    browser.get(path.as_uri())
    complaints(browser)
    return browser


def complaints(browser):
    entries = browser.get_log("browser")
    assert entries == [], entries


def shown(browser):
    """The numbers of the nodes that are near enough to be read."""
    script = "return [...document.querySelectorAll('#nodes .node')].map(node => Number(node.dataset.node))"
    return browser.execute_script(script)


def seen(browser):
    """How many nodes the window shows, near or far."""
    return int(browser.find_element("id", "canvas").get_attribute("data-seen"))


def painted(browser):
    """How many pixels of the map are not empty."""
    return browser.execute_script(
        "const map = document.getElementById('map'), copy = document.createElement('canvas');"
        "[copy.width, copy.height] = [map.width, map.height];"
        "const brush = copy.getContext('2d', { willReadFrequently: true });"
        "brush.drawImage(map, 0, 0);"
        "const pixels = brush.getImageData(0, 0, copy.width, copy.height).data;"
        "let n = 0; for (let k = 3; k < pixels.length; k += 4) n += pixels[k] > 0; return n"
    )


def settled(browser):
    """Wait until what was asked for is drawn."""
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    )


def click(browser, selector):
    element = browser.find_element("css selector", selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    element.click()
    settled(browser)


def choose(browser, selector, value):
    box = browser.find_element("css selector", selector)
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    browser.execute_script(script, box, value)
    settled(browser)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_every_window(browser, pages, width, scheme):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        for path in pages.values():
            opened(browser, path)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width, path.name
            page = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, page[4:-1].split(","))) < 300) == (scheme == "dark")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("page", ["large", "forest", "hostile"])
def test_words_of_a_node_leave_room_for_its_mark(browser, pages, page):
    opened(browser, pages[page])
    settled(browser)
    gaps = browser.execute_script(
        "return [...document.querySelectorAll('#nodes .node')].map(node => {"
        "  const words = node.querySelector('.words').getBBox(), mark = node.querySelector('.more');"
        "  const box = node.querySelector('.box').getBBox();"
        "  const end = mark && mark.textContent ? mark.getBBox().x : box.width;"
        "  return end - (words.x + words.width) })"
    )
    assert len(gaps) > 3 and min(gaps) > 3


def test_nodes_open_and_close(browser, pages):
    opened(browser, pages["forest"])
    before = shown(browser)
    click(browser, "#collapse")
    assert shown(browser) == [0]
    click(browser, "#nodes .node")
    assert len(shown(browser)) == 3
    click(browser, "#nodes .node")
    assert shown(browser) == [0]
    click(browser, "#expand")
    assert seen(browser) > len(before)
    complaints(browser)


def test_all_of_two_thousand_nodes_can_be_seen(browser, pages):
    opened(browser, pages["large"])
    click(browser, "#expand")
    # From afar they are a map, so that moving about stays smooth.
    assert seen(browser) == 1999 and shown(browser) == [] and painted(browser) > 1999
    for _ in range(11):  # until words can be read
        click(browser, "#nearer")
    # Near by, only what the window shows is in the document.
    assert 0 < len(shown(browser)) < 500 and painted(browser) == 0
    complaints(browser)


def test_nodes_of_the_map_can_be_pointed_at(browser, pages):
    from selenium.webdriver import ActionChains

    opened(browser, pages["large"])
    click(browser, "#expand")
    canvas = browser.find_element("id", "canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
    before = browser.find_element("id", "facts").text
    found = before
    # The tree is high and narrow, and stands in the middle; its nodes are as small as a pixel or two.
    for x, y in product(range(-40, 40, 2), range(-6, 7, 3)):
        ActionChains(browser, duration=0).move_to_element_with_offset(canvas, x, y).perform()
        found = browser.find_element("id", "facts").text
        if found != before:
            break
    assert found != before
    complaints(browser)


def test_a_row_is_followed_to_the_leaf_that_predicts_it(browser, pages):
    cancer = load_breast_cancer(as_frame=True)
    kinds = cancer.target_names[cancer.target]
    forest = hb.RandomForestClassifier(n_estimators=3, random_state=0).fit(cancer.data, kinds)
    leaves = forest.apply(cancer.data)
    opened(browser, pages["forest"])
    option = browser.find_elements("css selector", "#row option")[5]
    number = int(option.text.split()[1].rstrip(":"))
    choose(browser, "#row", option.get_attribute("value"))
    for member in range(3):
        choose(browser, "#member", str(member))
        choose(browser, "#row", option.get_attribute("value"))
        path = browser.execute_script(
            "return [...document.querySelectorAll('.node.on')].map(node => Number(node.dataset.node))"
        )
        assert leaves[number, member] in path
        facts = browser.find_element("id", "facts").text
        assert f"Row {number}" in facts and f"is {kinds[number]}" in facts
    complaints(browser)


def test_a_node_tells_its_facts_when_pointed_at(browser, pages):
    opened(browser, pages["forest"])
    cancer = load_breast_cancer(as_frame=True)
    forest = hb.RandomForestClassifier(n_estimators=3, random_state=0).fit(
        cancer.data, cancer.target_names[cancer.target]
    )
    from selenium.webdriver import ActionChains

    node = browser.find_elements("css selector", "#nodes .node")[1]
    number = int(node.get_attribute("data-node"))
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", node)
    ActionChains(browser).move_to_element(node).perform()
    settled(browser)
    facts = browser.find_element("id", "facts").text
    rows = forest._model.trees[0].n_node_samples[number]
    assert f"{rows} row" in facts and "benign" in facts


def test_keys_move_and_open(browser, pages):
    opened(browser, pages["large"])
    click(browser, "#collapse")
    browser.execute_script("document.getElementById('canvas').focus()")
    canvas = browser.find_element("id", "canvas")
    canvas.send_keys("\ue014")  # right: opens the root and goes to its first child
    settled(browser)
    assert len(shown(browser)) == 3
    assert browser.find_element("css selector", ".node.chosen").get_attribute("data-node") != "0"
    canvas.send_keys("\ue012")  # left: back to the root
    settled(browser)
    assert browser.find_element("css selector", ".node.chosen").get_attribute("data-node") == "0"
    complaints(browser)


def test_hostile_names_stay_text_in_the_browser(browser, pages):
    opened(browser, pages["hostile"])
    click(browser, "#expand")
    for row in range(3):
        choose(browser, "#row", str(row))
    assert browser.execute_script("return window.broken") is None
    assert browser.execute_script("return document.images.length") == 0
    assert browser.execute_script("return document.scripts.length") == 2
    text = browser.find_element("tag name", "body").text
    for name in HOSTILE:
        assert name in text
    complaints(browser)


def test_the_theme_can_be_switched(browser, pages):
    opened(browser, pages["neighbours"])
    before = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    click(browser, "#theme")
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") != before
    assert browser.find_elements("id", "viewer") == []
    complaints(browser)


@pytest.fixture(scope="module")
def narrow_pages(tmp_path_factory) -> dict[str, Path]:
    """A tree of 30 leaves on a mixed table, and boosting on the same."""
    folder = tmp_path_factory.mktemp("narrow")
    generator = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age in whole years": generator.integers(18, 90, 600).astype(float),
            "district": generator.choice([f"district {k}" for k in range(25)], 600),
        }
    )
    table.loc[generator.random(600) < 0.1, "age in whole years"] = np.nan
    score = table["age in whole years"].fillna(60) / 30 + generator.normal(size=600)
    kind = pd.Series(np.where(score > 2, "survived", "died"), name="outcome")
    tree = hb.DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(table, kind)
    hb.report(tree, table, kind, folder / "tree.html", cv=None)
    boosting = hb.GradientBoostingRegressor(5).fit(table, score)
    hb.report(boosting, table, score, folder / "boosting.html", cv=None)
    return {name: folder / f"{name}.html" for name in ("tree", "boosting")}


BEYOND = """return [...document.querySelectorAll('body *')].filter((one) => {
  const box = one.getBoundingClientRect();
  for (let above = one.parentElement; above; above = above.parentElement) {
    if (above.id === 'canvas') return false;  // a picture to be moved about
  }
  return box.width > 0 && box.right > innerWidth + 1;
}).map((one) => `${one.tagName} ${one.textContent.slice(0, 30)}`);"""


@pytest.mark.parametrize("name", ["tree", "boosting"])
def test_nothing_is_cut_at_400_pixels(browser, narrow_pages, name):
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(narrow_pages[name].as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
        assert browser.execute_script(BEYOND) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_open_all_writes_into_boxes_where_there_is_room(browser, narrow_pages):
    browser.get(narrow_pages["tree"].as_uri())
    browser.execute_script(
        "window.written = []; const kind = CanvasRenderingContext2D.prototype, write = kind.fillText;"
        "kind.fillText = function (text, ...at) { window.written.push(text); write.call(this, text, ...at) };"
        "document.getElementById('viewer').scrollIntoView(); document.getElementById('expand').click();"
    )
    browser.execute_async_script("setTimeout(arguments[0], 300)")
    written = browser.execute_script("return window.written")
    drawn = browser.execute_script("return document.querySelectorAll('#nodes .node').length")
    assert len(written) >= 59 or drawn >= 59  # 30 leaves and the tests above them
    assert all(written)


def test_a_leaf_of_boosting_says_what_it_adds(browser, narrow_pages):
    browser.get(narrow_pages["boosting"].as_uri())
    browser.execute_script(
        "const row = document.getElementById('row'); row.value = '3'; row.dispatchEvent(new Event('change'));"
    )
    message = browser.execute_script("return document.getElementById('facts').innerText")
    assert message.startswith("Adds ") and "to the score" in message and "Answer" not in message
