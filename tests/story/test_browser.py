"""Stories in a real browser: steps, the quiz, thresholds that are dragged, neighbours that are searched.

Needs Chromium, its driver and selenium; `make test` installs them where it can. Without them these tests are
skipped, and say what is missing.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_moons

import hornbeam as hb

HOSTILE = ["<script>window.broken = 1</script>", '"><img src=x onerror="window.broken = 1">', "a'b\"c"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
IRIS = load_iris(as_frame=True)
SPECIES = pd.Series(IRIS.target_names[IRIS.target], name="species")
POINTS, SIDES = make_moons(120, noise=0.3, random_state=0)
MOONS = pd.DataFrame(POINTS, columns=["east", "north"])
SIDE = pd.Series(np.where(SIDES == 1, "upper", "lower"), name="moon")
KINDS = ["tree", "numbers", "forest", "adaboost", "boosting", "neighbours", "stack", "hostile"]


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
    """One story of each kind of model."""
    folder = tmp_path_factory.mktemp("stories")
    diabetes = load_diabetes(as_frame=True)
    generator = np.random.default_rng(0)
    table = pd.DataFrame({name: generator.normal(size=60) for name in HOSTILE[:2]})
    table["category"] = np.resize(HOSTILE, 60)
    labels = pd.Series(np.where(table[HOSTILE[0]] > 0, HOSTILE[0], HOSTILE[1]), name=HOSTILE[2])
    members = [("knn", hb.KNeighborsClassifier()), ("tree", hb.DecisionTreeClassifier(max_depth=2))]
    message = {
        "tree": (hb.DecisionTreeClassifier(random_state=0), IRIS.data, SPECIES),
        "numbers": (hb.DecisionTreeRegressor(max_depth=3), diabetes.data, diabetes.target),
        "forest": (hb.RandomForestClassifier(8, random_state=0), MOONS, SIDE),
        "adaboost": (hb.AdaBoostClassifier(n_estimators=5), MOONS, SIDE),
        "boosting": (hb.GradientBoostingRegressor(6), diabetes.data, diabetes.target),
        "neighbours": (hb.KNeighborsClassifier(7), MOONS, SIDE),
        "stack": (hb.StackingClassifier([members], cv=3, random_state=0), MOONS, SIDE),
        "hostile": (hb.DecisionTreeClassifier(random_state=0), table, labels),
    }
    for name, (model, X, y) in message.items():
        hb.story(model.fit(X, y), X, y, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in message}


def opened(browser, path):
    browser.get(path.as_uri())
    complaints(browser)
    return browser


def complaints(browser):
    """Whatever a page complains about in the console is a failure."""
    entries = browser.get_log("browser")
    assert entries == [], entries


def press(browser, words, chapter=""):
    script = (
        "const [words, chapter] = arguments;"
        "const buttons = [...document.querySelectorAll(`${chapter} .player button`)];"
        "buttons.find((one) => one.textContent.includes(words)).click()"
    )
    browser.execute_script(script, words, chapter)


def text(browser, selector):
    return browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def move(browser, selector, value):
    browser.execute_script(
        "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
        "one.dispatchEvent(new Event('input'));",
        selector,
        value,
    )


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_step_of_every_story_fits_every_window(browser, pages, width, scheme):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        for name in KINDS:
            opened(browser, pages[name])
            wide = browser.execute_script(
                "let wide = 0;"
                "document.querySelectorAll('.chapter').forEach((chapter) => {"
                "  const buttons = [...chapter.querySelectorAll('.player button')];"
                "  const next = buttons.find((one) => one.textContent.includes('Next'));"
                "  for (let k = 0; k < 50 && !next.disabled; k += 1) {"
                "    next.click(); wide = Math.max(wide, document.documentElement.scrollWidth);"
                "    if (!chapter.querySelector('.caption').textContent) throw new Error('no caption');"
                "  }"
                "});"
                "return wide"
            )
            assert 0 < wide <= width, name
            page = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, page[4:-1].split(","))) < 300) == (scheme == "dark")
            complaints(browser)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_dragged_threshold_gains_what_the_split_table_says(browser, pages):
    from selenium.webdriver import ActionChains

    opened(browser, pages["tree"])
    press(browser, "Next", "#growing")
    tree = hb.DecisionTreeClassifier(random_state=0).fit(IRIS.data, SPECIES)
    table = tree.split_table(IRIS.data, SPECIES, 0)
    table = table[table.feature == "petal length (cm)"].reset_index()
    for place in (0, 10, len(table) - 1):
        move(browser, "#growing .panel input[type=range]", place)
        gain = float(
            browser.execute_script("return document.querySelector('#growing [data-said]').dataset.gain")
        )
        assert gain == pytest.approx(table.gain[place], rel=1e-6)
    before = text(browser, "#growing [data-said]")
    picture = browser.find_elements("css selector", "#growing .panel svg.chart")[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", picture)
    ActionChains(browser).click_and_hold(picture).move_by_offset(-60, 0).release().perform()
    assert text(browser, "#growing [data-said]") != before
    complaints(browser)


def test_keys_go_from_step_to_step_and_another_column_can_be_looked_at(browser, pages):
    opened(browser, pages["tree"])
    browser.find_element("tag name", "body").send_keys("\ue014")  # nothing was chosen yet: the first chapter
    assert browser.find_element("id", "growing").get_attribute("data-step") == "1"
    assert browser.find_element("id", "pruning").get_attribute("data-step") == "0"
    browser.execute_script("document.querySelector('#growing .player button:nth-child(2)').focus()")
    browser.switch_to.active_element.send_keys("\ue014")
    assert browser.find_element("id", "growing").get_attribute("data-step") == "2"
    browser.switch_to.active_element.send_keys("\ue012")  # left
    assert browser.find_element("id", "growing").get_attribute("data-step") == "1"
    name = text(browser, "#growing .bars li:nth-child(3) span")
    browser.execute_script("document.querySelector('#growing .bars li:nth-child(3) button').click()")
    assert text(browser, "#growing .panel label").startswith(name.split(" <=")[0])


def test_the_quiz_asks_before_it_shows_and_counts(browser, pages):
    opened(browser, pages["tree"])
    press(browser, "Quiz", "#growing")
    press(browser, "Next", "#growing")
    assert browser.find_element("id", "growing").get_attribute("data-step") == "0"
    assert "which column is tested next" in text(browser, "#growing .quiz")
    browser.execute_script(
        "const options = [...document.querySelectorAll('#growing .quiz button')];"
        "options.find((one) => one.textContent === 'petal length (cm)').click()"
    )
    assert browser.find_element("id", "growing").get_attribute("data-step") == "1"
    assert "Right." in text(browser, "#growing .quiz") and "1 of 1 right" in text(browser, "#growing .quiz")
    complaints(browser)


@pytest.mark.parametrize("name", KINDS)
def test_every_quiz_has_one_right_answer_among_its_options(browser, pages, name):
    opened(browser, pages[name])
    for chapter in browser.find_elements("css selector", ".chapter"):
        place = f"#{chapter.get_attribute('id')}"
        press(browser, "Quiz", place)
        n_asked = browser.execute_script(
            "const chapter = arguments[0]; let asked = 0;"
            "const buttons = [...chapter.querySelectorAll('.player button')];"
            "const next = buttons.find((one) => one.textContent.includes('Next'));"
            "for (let k = 0; k < 60 && !next.disabled; k += 1) {"
            "  next.click();"
            "  const box = chapter.querySelector('.quiz');"
            "  const options = [...box.querySelectorAll('button:enabled')];"
            "  if (box.hidden || !options.length) continue;"
            "  if (options.length < 2) throw new Error('no choice: ' + box.textContent);"
            "  options[0].click(); asked += 1;"
            "  if (box.querySelectorAll('.right').length !== 1) throw new Error('no right answer');"
            "} return asked",
            chapter,
        )
        assert n_asked > 0, place
    complaints(browser)


def test_the_weight_that_the_quiz_calls_right_is_that_of_the_model(browser, pages):
    opened(browser, pages["adaboost"])
    model = hb.AdaBoostClassifier(n_estimators=5, keep_weights=True).fit(MOONS, SIDE)
    press(browser, "Quiz", "#weights")
    press(browser, "Next", "#weights")
    asked = text(browser, "#weights .quiz p")
    row = int(asked.split("Row ")[1].split(",")[0])
    right = f"{model.sample_weights_[1][row]:.4g}"
    options = browser.execute_script(
        "return [...document.querySelectorAll('#weights .quiz button')].map((one) => one.textContent)"
    )
    assert right in options
    browser.execute_script(
        f"document.querySelectorAll('#weights .quiz button')[{options.index(right)}].click()"
    )
    assert "Right." in text(browser, "#weights .quiz")


@pytest.mark.parametrize(("weights", "k"), [("uniform", 7), ("distance", 5), ("inverse_square", 9)])
def test_neighbours_in_the_browser_answer_as_the_model_does(browser, pages, weights, k):
    opened(browser, pages["neighbours"])
    browser.execute_script(
        "const kernel = document.querySelector('#neighbours select'); kernel.value = arguments[0];"
        "kernel.dispatchEvent(new Event('change'));",
        weights,
    )
    move(browser, "#neighbours .panel input[type=range]", k)
    svg = browser.find_element("css selector", "#neighbours .panel svg.chart")
    for key in ("\ue014", "\ue013", "\ue012"):  # right, up, left
        svg.send_keys(key)
        svg.send_keys(key)
        said = text(browser, "#neighbours [data-said]")
        place = [float(part.split("= ")[1].replace("−", "-")) for part in said.split(":")[0].split(", ")]
        model = hb.KNeighborsClassifier(k, weights=weights).fit(MOONS, SIDE)
        shares = model.predict_proba(pd.DataFrame([place], columns=["east", "north"]))[0]
        answer = browser.execute_script(
            "return document.querySelector('#neighbours [data-said]').dataset.answer"
        )
        assert answer == model.classes_[shares.argmax()]
        assert f"{answer} {100 * shares.max():.0f} %" in said
    complaints(browser)


def test_gaussian_weights_of_all_rows_are_those_of_the_kernel_classifier(browser, pages):
    opened(browser, pages["neighbours"])
    browser.execute_script(
        "const kernel = document.querySelector('#neighbours select'); kernel.value = 'gaussian';"
        "kernel.dispatchEvent(new Event('change'));"
    )
    move(browser, "#neighbours .panel input[type=range]", 120)
    label = browser.execute_script(
        "const labels = [...document.querySelectorAll('#neighbours label')].map((one) => one.textContent);"
        "return labels.find((one) => one.startsWith('bandwidth'))"
    )
    model = hb.KNeighborsClassifier(None, weights="gaussian", bandwidth=float(label.split("= ")[1])).fit(
        MOONS, SIDE
    )
    said = text(browser, "#neighbours [data-said]")
    place = [float(part.split("= ")[1].replace("−", "-")) for part in said.split(":")[0].split(", ")]
    shares = model.predict_proba(pd.DataFrame([place], columns=["east", "north"]))[0]
    assert f"{100 * shares.max():.0f} %" in said


def test_points_of_adaboost_are_as_large_as_their_weights(browser, pages):
    opened(browser, pages["adaboost"])
    press(browser, "Next", "#weights")
    press(browser, "Next", "#weights")
    model = hb.AdaBoostClassifier(n_estimators=5, keep_weights=True).fit(MOONS, SIDE)
    radii = browser.execute_script(
        "const points = [...document.querySelectorAll('#weights [data-row]')];"
        "return points.map((one) => [Number(one.dataset.row), Number(one.getAttribute('r'))])"
    )
    weights = model.sample_weights_[1]
    for row, radius in radii:
        assert radius == pytest.approx(5 * np.sqrt(weights[row] * 120), rel=1e-2)


def test_hostile_names_stay_text_in_the_browser(browser, pages):
    opened(browser, pages["hostile"])
    for chapter in ("#growing", "#pruning"):
        press(browser, "Quiz", chapter)
        press(browser, "Next", chapter)
        browser.execute_script(f"document.querySelector('{chapter} .quiz button').click()")
    assert browser.execute_script("return window.broken") is None
    assert browser.execute_script("return document.images.length") == 0
    assert browser.execute_script("return document.scripts.length") == 2
    for name in HOSTILE[:2]:
        assert name in browser.find_element("tag name", "body").text
    complaints(browser)


def test_the_theme_can_be_switched_and_playing_goes_on_by_itself(browser, pages):
    opened(browser, pages["forest"])
    before = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.find_element("id", "theme").click()
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") != before
    press(browser, "Play", "#sampling")
    browser.execute_async_script("setTimeout(arguments[0], 1700)")
    assert int(browser.find_element("id", "sampling").get_attribute("data-step")) >= 1
    press(browser, "Pause", "#sampling")
    complaints(browser)
