"""The charts of a report: facts come in, SVG elements for the page go out, in the colours of `hb.plot`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from sklearn import metrics

from hornbeam.inside.accumulated import AccumulatedEffect
from hornbeam.inside.words import named
from hornbeam.plot.canvas import BLUE, GREY, ORANGE, PALETTE, STYLES, draw_course, label, name_dates
from hornbeam.plot.contributions import contributions
from hornbeam.plot.effect import edges_of_steps
from hornbeam.plot.effect import effect as draw_effect
from hornbeam.plot.importance import importance
from hornbeam.report.facts import Facts
from hornbeam.report.influence import Dependence
from hornbeam.report.svg import FAINT, PAPER, chart_style, inline_svg, new_figure

__all__ = ["Chart", "charts_of", "importance_words"]

FloatArray = npt.NDArray[np.float64]

WIDTH, HEIGHT = 4.7, 3.3  # inches: text stays readable on a phone, where a chart is as wide as the page
MOST_POINTS = 1_200
MOST_CURVES = 6
MOST_BARS = 15
MOST_LINES = 8  # each with a dot per row
LONGEST_NAME = 24
N_BINS = 10


@dataclass(frozen=True)
class Chart:
    """A picture and what it says."""

    svg: Markup
    title: str
    caption: str


def charts_of(facts: Facts) -> dict[str, Chart]:
    """Draw all charts that these facts have something for."""
    drawers: dict[str, Callable[[Facts, Any], tuple[str, str] | None]] = {
        "headline": _headline,
        "target": _target,
        "roc": _roc,
        "precision": _precision,
        "calibration": _calibration,
        "answers": _answers,
        "residuals": _residuals,
        "learning": _learning,
        "importance": _importances,
        "contributions": _contributions,
    }
    found = {}
    with chart_style():
        for name, draw in drawers.items():
            figure, ax = new_figure(*_size(name, facts))
            words = draw(facts, ax)
            if words is not None:
                found[name] = Chart(inline_svg(figure, name=name, description=words[0]), *words)
        for position, dependence in enumerate(facts.dependences):
            figure, ax = new_figure(WIDTH, HEIGHT * 0.85)
            title, caption = _dependence(facts, dependence, ax)
            svg = inline_svg(figure, name=f"dependence{position}", description=title)
            found[f"dependence{position}"] = Chart(svg, title, caption)
        for position, effect in enumerate(facts.accumulated):
            figure, ax = new_figure(WIDTH, HEIGHT * 0.85)
            title, caption = _accumulated(effect, ax)
            svg = inline_svg(figure, name=f"accumulated{position}", description=title)
            found[f"accumulated{position}"] = Chart(svg, title, caption)
    return found


def _size(name: str, facts: Facts) -> tuple[float, float]:
    if name == "headline":
        return WIDTH, 1.5
    if name == "importance":
        return WIDTH, 0.75 + 0.24 * min(MOST_BARS, len(facts.importances.columns))
    if name == "contributions" and facts.reasons is not None:
        return WIDTH, 0.9 + 0.3 * min(MOST_LINES, len(facts.reasons.contributions.names))
    if name == "target" and facts.labels is not None:
        return WIDTH, 0.75 + 0.26 * min(MOST_BARS, len(facts.labels))
    return WIDTH, HEIGHT


def _short(value: object) -> str:
    """Name something in the space beside a chart."""
    text = named(value)
    return label(text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…")


# --- The headline and the target -------------------------------------------------------------------------


def _headline(facts: Facts, ax: Any) -> tuple[str, str]:
    score = facts.scores.headline
    places = [1.0, 0.0]
    ax.plot([score.baseline], [0.0], "D", color=GREY, markersize=7)
    # The interval of a skewed score need not hold the score itself, as an error bar would have to.
    ax.plot([score.low, score.high], [1.0, 1.0], "|-", color=BLUE, markersize=9, linewidth=2)
    ax.plot([score.model], [1.0], "o", color=BLUE, markersize=8)
    names = ["model", "baseline"]
    if score.training is not None:
        ax.plot([score.training], [2.0], "o", color=BLUE, markerfacecolor=PAPER, markersize=7)
        places, names = [2.0, *places], ["on its fit's rows", *names]
    ax.axvline(score.baseline, color=GREY, linestyle=":", linewidth=1)
    ax.set_yticks(places, names)
    ax.set_ylim(-0.6, max(places) + 0.6)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(score.name)
    return (
        "Against the baseline",
        "The bar is the 95 % interval over bootstrap draws of the rows.",
    )


def _target(facts: Facts, ax: Any) -> tuple[str, str]:
    title = f"The target, {named(facts.target_name)}"
    if facts.labels is None:
        ax.hist(facts.truth, bins=30, color=BLUE, edgecolor=PAPER, linewidth=0.5)
        ax.set_xlabel(_short(facts.target_name))
        ax.set_ylabel("rows")
        return title, "How often each value occurs."
    counts = np.bincount(facts.truth, minlength=len(facts.labels))
    order = np.argsort(-counts, kind="stable")[:MOST_BARS]
    ax.barh(range(len(order)), counts[order], color=[_colour(k) for k in order.tolist()], height=0.65)
    ax.set_yticks(range(len(order)), [_short(facts.labels[k]) for k in order])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("rows")
    left = len(facts.labels) - len(order)
    return title, "Rows of each class." + (f" {left:,} rarer classes are not shown." if left else "")


def _colour(k: int) -> str:
    """Give a class the colour that it has everywhere in the report; beyond the palette classes are grey."""
    return PALETTE[k] if k < len(PALETTE) else GREY


# --- Classes ---------------------------------------------------------------------------------------------


def _curve_classes(facts: Facts) -> list[int]:
    """Choose the classes whose curves are drawn: the second of two, else the most frequent ones."""
    present = np.bincount(facts.truth, minlength=len(facts.labels or ()))
    usable = [k for k in range(facts.n_known) if 0 < present[k] < len(facts.truth)]
    if facts.n_known == 2:
        return [k for k in usable if k == 1]
    return sorted(sorted(usable, key=lambda k: -present[k])[:MOST_CURVES])


def _curve_colour(facts: Facts, k: int) -> str:
    """Return the colour of a class, or that of a single curve."""
    return _colour(k) if facts.n_known > 2 else BLUE


def _shares(facts: Facts) -> FloatArray | None:
    return facts.judgement.answers.probabilities if facts.is_classification else None


def _roc(facts: Facts, ax: Any) -> tuple[str, str] | None:
    probabilities, classes = _shares(facts), _curve_classes(facts) if facts.labels else []
    if probabilities is None or not classes:
        return None
    ax.plot([0, 1], [0, 1], color=FAINT, linestyle=":", linewidth=1)
    for k in classes:
        false, true, _ = metrics.roc_curve(facts.truth == k, probabilities[:, k])
        area = metrics.auc(false, true)
        _draw_class_curve(facts, ax, k, (false, true), label=f"{_class_name(facts, k)}, area {area:.3f}")
    _finish_unit_square(ax, "share of others taken for it", "share of the class found")
    ax.legend(loc="lower right")
    return "ROC curve", "Higher is better; the dotted diagonal is guessing."


def _precision(facts: Facts, ax: Any) -> tuple[str, str] | None:
    probabilities, classes = _shares(facts), _curve_classes(facts) if facts.labels else []
    if probabilities is None or not classes:
        return None
    for k in classes:
        precision, recall, _ = metrics.precision_recall_curve(facts.truth == k, probabilities[:, k])
        mean = metrics.average_precision_score(facts.truth == k, probabilities[:, k])
        words = f"{_class_name(facts, k)}, mean {mean:.3f}"
        _draw_class_curve(facts, ax, k, (recall, precision), drawstyle="steps-post", label=words)
        ax.axhline(np.mean(facts.truth == k), color=_curve_colour(facts, k), linestyle=":", linewidth=0.8)
    _finish_unit_square(ax, "recall: share of the class found", "precision: share found that is right")
    ax.legend(loc="lower left")
    return "Precision and recall", "Higher is better; dotted lines are the share of the class among all rows."


def _draw_class_curve(
    facts: Facts, ax: Any, k: int, course: tuple[FloatArray, FloatArray], **style: Any
) -> None:
    # Many rows make many corners; a chart cannot show more than a few hundred.
    xs, ys = course
    kept = np.unique(np.linspace(0, len(xs) - 1, min(len(xs), 400)).astype(int))
    style = {"linestyle": _stroke(facts, k), "linewidth": 1.6, **style}
    ax.plot(xs[kept], ys[kept], color=_curve_colour(facts, k), **style)


def _stroke(facts: Facts, k: int) -> str:
    return STYLES[_curve_classes(facts).index(k) % len(STYLES)]


def _class_name(facts: Facts, k: int) -> str:
    return _short((facts.labels or ())[k])


def _finish_unit_square(ax: Any, x_label: str, y_label: str) -> None:
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.03)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)


def _calibration(facts: Facts, ax: Any) -> tuple[str, str] | None:
    probabilities = _shares(facts)
    if not facts.is_classification:
        return _number_calibration(facts, ax)
    classes = _curve_classes(facts)
    if probabilities is None or not classes:
        return None
    ax.plot([0, 1], [0, 1], color=FAINT, linestyle=":", linewidth=1)
    for k in classes:
        said, seen, error = _binned(probabilities[:, k], (facts.truth == k).astype(np.float64))
        ax.errorbar(
            said,
            seen,
            yerr=error,
            color=_curve_colour(facts, k),
            linestyle=_stroke(facts, k),
            marker="o",
            markersize=4,
            linewidth=1.4,
            elinewidth=0.8,
            label=_class_name(facts, k),
        )
    _finish_unit_square(ax, "share that the model gives the class", "share of rows that are of it")
    ax.legend(loc="upper left")
    return (
        "Calibration",
        "On the dotted line a share of 0.8 is right in 8 of 10 rows. Bars: a standard error.",
    )


def _number_calibration(facts: Facts, ax: Any) -> tuple[str, str]:
    said, seen, error = _binned(facts.judgement.answers.labels, facts.truth)
    low, high = min(said.min(), seen.min()), max(said.max(), seen.max())
    ax.plot([low, high], [low, high], color=FAINT, linestyle=":", linewidth=1)
    ax.errorbar(said, seen, yerr=error, color=BLUE, marker="o", markersize=4, linewidth=1.4, elinewidth=0.8)
    ax.set_xlabel("mean prediction of a tenth of the rows")
    ax.set_ylabel("mean target of these rows")
    return "Calibration", "On the dotted line predictions are right on average. Bars: one standard error."


def _binned(said: FloatArray, seen: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Group rows by their prediction, about equally many each; return means and the standard error."""
    edges = np.unique(np.quantile(said, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    groups = [np.flatnonzero(np.searchsorted(edges, said, side="right") == k) for k in range(len(edges) + 1)]
    groups = [rows for rows in groups if len(rows)]
    means = np.array([[said[rows].mean(), seen[rows].mean()] for rows in groups])
    errors = np.array([seen[rows].std() / np.sqrt(len(rows)) for rows in groups])
    return means[:, 0], means[:, 1], errors


# --- Numbers ---------------------------------------------------------------------------------------------


def _some_rows(n_rows: int) -> npt.NDArray[np.int64]:
    rows = np.arange(n_rows)
    return (
        rows if n_rows <= MOST_POINTS else np.random.default_rng(0).choice(rows, MOST_POINTS, replace=False)
    )


def _answers(facts: Facts, ax: Any) -> tuple[str, str] | None:
    if facts.is_classification:
        return None
    rows = _some_rows(len(facts.truth))
    said, truth = facts.judgement.answers.labels[rows], facts.truth[rows]
    low, high = float(min(said.min(), truth.min())), float(max(said.max(), truth.max()))
    ax.plot([low, high], [low, high], color=FAINT, linestyle=":", linewidth=1)
    ax.plot(said, truth, "o", color=BLUE, markersize=3, alpha=0.45, markeredgewidth=0)
    ax.set_xlabel("prediction")
    ax.set_ylabel(_short(facts.target_name))
    return "Predicted and true", f"{len(rows):,} rows; on the dotted line the prediction is right."


def _residuals(facts: Facts, ax: Any) -> tuple[str, str] | None:
    if facts.is_classification:
        return None
    residuals = facts.truth - facts.judgement.answers.labels
    # The outermost hundredths would squeeze the others together; they are counted at the ends.
    low, high = np.quantile(residuals, [0.005, 0.995])
    ax.hist(np.clip(residuals, low, high), bins=30, color=BLUE, edgecolor=PAPER, linewidth=0.5)
    ax.axvline(0, color=FAINT, linestyle=":", linewidth=1)
    ax.axvline(float(residuals.mean()), color=ORANGE, linewidth=1.6, label=f"mean {residuals.mean():.3g}")
    ax.set_xlabel("residual: target minus prediction")
    ax.set_ylabel("rows")
    ax.legend()
    return "Residuals", "Centred on 0 where the model is right on average; long tails are rows it misjudges."


# --- What matters ----------------------------------------------------------------------------------------


def _learning(facts: Facts, ax: Any) -> tuple[str, str] | None:
    curve = facts.learning_curve
    if curve is None:
        return None
    for scores, colour, name in ((curve.train, GREY, "training rows"), (curve.test, BLUE, "test rows")):
        mean = scores.mean(axis=1)
        spread = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        ax.fill_between(curve.sizes, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
        draw_course(ax, curve.sizes, mean, name, marker="o")
    ax.set_xlabel("training rows")
    ax.set_ylabel(facts.scores.headline.name)
    ax.legend()
    words = "A test curve that still rises calls for more rows; a wide gap between the curves for a simpler "
    "model."
    return "Learning curve", f"{words} Bands: one standard error over {curve.test.shape[1]} folds."


def _importances(facts: Facts, ax: Any) -> tuple[str, str]:
    found = facts.importances

    class Shuffled:
        importances_mean = found.mean
        importances_std = found.standard_error

    names = [_unlabelled(facts.columns[column].name) for column in found.columns]
    importance(facts.model, Shuffled, names=names, most=MOST_BARS, ax=ax)
    ax.axvline(0, color=FAINT, linewidth=0.8)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"{importance_words(facts)} when shuffled")
    ax.set_title("", loc="right")
    left = len(found.columns) - MOST_BARS
    more = f" {left} columns that matter less are not shown." if left > 0 else ""
    if found.n_left_out:
        more += f" {found.n_left_out:,} columns were not tried."
    return (
        "Importances",
        "How much worse the answers get when a column is shuffled. Bars: one standard error. "
        f"Columns that carry the same information hide each other's importance.{more}",
    )


def _contributions(facts: Facts, ax: Any) -> tuple[str, str] | None:
    reasons = facts.reasons
    if reasons is None:
        return None
    found = reasons.contributions
    shown = replace(found, names=tuple(_unlabelled(name) for name in found.names))
    contributions(shown, "bar" if reasons.is_size else "beeswarm", most=MOST_LINES, ax=ax)
    for bar in [other for other in ax.figure.axes if other is not ax]:
        bar.remove()  # its colours are an image, which the policy of the page does not allow
    ax.grid(visible=False, axis="y")
    ax.set_title("", loc="right")
    if reasons.is_size:
        return "Contributions", "The mean size of what each column adds to the scores of the classes."
    towards = "the prediction" if reasons.output is None else f"the score of {named(reasons.output)}"
    return (
        "Contributions",
        f"What each column adds to {towards}, exactly: a dot for each of {len(found):,} rows, the darker the "
        "larger the value. Dots on the right raise it.",
    )


def importance_words(facts: Facts) -> str:
    """Say what is measured when a column is shuffled."""
    if not facts.is_classification:
        return "loss of R²"
    return "growth of Brier score" if hasattr(facts.model, "predict_proba") else "loss of accuracy"


def _unlabelled(name: str) -> str:
    text = named(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _accumulated(found: AccumulatedEffect, ax: Any) -> tuple[str, str]:
    """Draw what a column does to the score; of several classes, the one that it moves most."""
    if found.mean.ndim == 1:
        draw_effect(found, ax=ax)
        return named(found.column), ""
    most = int(np.argmax(np.ptp(found.mean, axis=0)))
    place = 1 if len(found.outputs) == 2 else most
    draw_effect(found, output=found.outputs[place], ax=ax)
    return f"{named(found.column)}, for {named(found.outputs[place])}", ""


def _dependence(facts: Facts, found: Dependence, ax: Any) -> tuple[str, str]:
    name = facts.columns[found.column].name
    single = found.mean.shape[1] == 1
    outputs = [0] if single else _curve_classes(facts)
    places = found.places if isinstance(found.places, np.ndarray) else np.arange(float(len(found.places)))
    is_numeric = isinstance(found.places, np.ndarray)
    style: dict[str, Any] = {}
    means = found.mean
    if found.is_exact:  # a step holds up to its place
        style, places = {"drawstyle": "steps-pre"}, edges_of_steps(places)
        means = np.concatenate([means[:1], means])
    if found.lines is not None and found.shows_lines:
        lines = np.concatenate([found.lines[:, :1], found.lines], axis=1) if found.is_exact else found.lines
        ax.plot(places, lines.T, color=GREY, linewidth=0.5, alpha=0.45, **style)
    for position, k in enumerate(outputs):
        ax.plot(
            places,
            means[:, k],
            **style,
            color=BLUE if single else _colour(k),
            linestyle=STYLES[position % len(STYLES)] if is_numeric else "",
            marker=None if is_numeric else "o",
            linewidth=2,
            label=_short((facts.labels or ())[k]) if not single else None,
        )
    if not is_numeric:
        assert isinstance(found.places, list)
        ax.set_xticks(places, [_short(place) for place in found.places], rotation=30, ha="right")
        ax.margins(x=0.1)
    if facts.columns[found.column].kind == "date":
        name_dates(ax.xaxis)
    ax.set_xlabel(_short(name))
    if not facts.is_classification:
        ax.set_ylabel("mean prediction")
    elif single:
        ax.set_ylabel(f"mean share of {_short((facts.labels or ())[1])}")
    else:
        ax.set_ylabel("mean share of the class")
        ax.legend()
    return named(name), ""
