"""`hb.tune`: the cross-validated scores of an estimator for every setting of a grid.

The folds and the scores are those of scikit-learn's GridSearchCV. What differs is the work: each fold is read
and encoded once for all settings, where the estimator reads tables as hornbeam does. Beside the best setting
there is the simplest one within a standard error of it (Breiman et al. 1984, section 3.4.3).
"""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import is_classifier

from hornbeam.data.sources import refuse_no_table
from hornbeam.data.unseen import said_once
from hornbeam.declare.kinds import shown
from hornbeam.inside.html import html_table
from hornbeam.inside.words import printable
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.listen import Listener, listening
from hornbeam.selection.folds import Fold, Folded, own_target, refuse_target
from hornbeam.selection.frames import as_frame
from hornbeam.selection.grids import candidates_of, default_grid, simplicity
from hornbeam.selection.trials import Candidate
from hornbeam.warnings import CandidateWarning, warn

__all__ = ["Tuned", "tune"]

FloatArray = npt.NDArray[np.float64]
Choice = Literal["best", "one_standard_error"]


def tune(
    X: Any,
    y: Any = None,
    estimator: Any = None,
    grid: Any = None,
    *,
    cv: Any = None,
    scoring: Any = None,
    groups: Any = None,
    choose: Choice = "best",
    train_scores: bool = False,
    time_budget: float | None = None,
    client: Any = None,
    verbose: int = 0,
) -> "Tuned":
    """Try every setting of a grid by cross-validation; GridSearchCV's results on one encoding per fold.

    y is the target of the rows, or the name of its column in a frame X. `grid` maps parameters to values, may
    be a list of such dicts, and None takes the usual ones of the method (`hornbeam.selection.grids`). `cv`
    and `scoring` are scikit-learn's: a number of folds, a splitter or splits; the name of a scorer or one of
    your own. `choose` says which setting `best_estimator_` is refitted with on all rows: the best, or the
    simplest within one standard error of it. `train_scores` adds the scores on the training rows. After
    `time_budget` seconds the settings that have been judged on all folds are compared, at least one; the
    others are left out. X may be an `EncodedTable`, which has a target of its own; folds then have the bins
    of all rows.

    `client` is that of a Dask cluster: its workers get the table once, and then a setting and a fold at a
    time. The scores are those of one machine; the chosen setting is fitted on all rows here. When its time is
    up, `tune` continues without waiting for the fits that workers are running.
    """
    from sklearn.metrics import check_scoring  # noqa: PLC0415
    from sklearn.model_selection import check_cv  # noqa: PLC0415

    _refuse_other_order(X, estimator)
    refuse_no_table(X)
    if choose not in ("best", "one_standard_error"):
        raise ValueError(f"choose must be 'best' or 'one_standard_error'; got {shown(choose)}.")
    if time_budget is not None and not time_budget > 0:
        raise ValueError(
            f"time_budget must be a number of seconds above 0, or None; got {shown(time_budget)}."
        )
    X, y, groups = own_target(X, y, groups, reader="tune")
    settings = candidates_of(default_grid(estimator) if grid is None else grid)
    scorer = check_scoring(estimator, scoring=scoring)
    of_classes = is_classifier(estimator)
    refuse_target(X, y, "classification" if of_classes else "regression", reader="tune")
    splitter = check_cv(cv, y, classifier=of_classes)
    data = Folded.of(
        X, y, splitter, task="classification" if of_classes else "regression", groups=groups, reader="tune"
    )
    scores = _TrialScores(len(settings), len(data.folds), with_training=train_scores)
    clock = Clock(time_budget)
    with listening(verbose, "tuning") as listener, said_once():
        listener.expect(len(settings) * len(data.folds))
        if client is not None:
            settings = _judged_on_cluster(
                client, data, scores, estimator, settings, scorer=scorer, clock=clock, listener=listener
            )
        elif time_budget is None:
            for fold in data.folds:
                for place, setting in enumerate(settings):
                    scores.put(place, fold.number, scored(fold, estimator, scorer, train_scores, setting))
                    listener.done((fold.number - 1) * len(settings) + place + 1)
                fold.forget()
        else:
            settings = _judged_in_time(
                data, scores, estimator, settings, scorer=scorer, clock=clock, listener=listener
            )
    scores.complain(settings)
    results = scores.results(settings)
    best = int(np.argmin(results["rank_test_score"]))
    simple = _simplest_close(settings, results, best, len(data.folds))
    chosen = best if choose == "best" else simple
    return Tuned(
        settings=settings,
        cv_results_=results,
        best_index_=best,
        one_standard_error_index_=simple,
        chosen_index_=chosen,
        best_estimator_=Candidate(estimator, settings[chosen]).fitted(X, data.y),
        errors=scores.errors,
        n_folds=len(data.folds),
    )


def _judged_in_time(
    data: Folded,
    scores: "_TrialScores",
    estimator: Any,
    settings: list[dict[str, Any]],
    *,
    scorer: Any,
    clock: Clock,
    listener: Listener,
) -> list[dict[str, Any]]:
    """Judge one setting after the other, on all folds each; return those that were judged in time."""
    n_folds = len(data.folds)
    for place, setting in enumerate(settings):
        for fold in data.folds:
            if place and clock.left <= 0:
                scores.keep(range(place))
                return settings[:place]
            scores.put(place, fold.number, scored(fold, estimator, scorer, scores.with_training, setting))
            listener.done(place * n_folds + fold.number)
            if not data.keeps_rows:
                fold.forget()
    return settings


def _judged_on_cluster(
    client: Any,
    data: Folded,
    scores: "_TrialScores",
    estimator: Any,
    settings: list[dict[str, Any]],
    *,
    scorer: Any,
    clock: Clock,
    listener: Listener,
) -> list[dict[str, Any]]:
    """Judge settings on the workers of a cluster; return those that were judged in time."""
    from hornbeam.selection.on_cluster import FoldsOnCluster  # noqa: PLC0415

    n_folds = len(data.folds)
    cells = [(fold, place) for fold in range(1, n_folds + 1) for place in range(len(settings))]
    if math.isfinite(clock.budget):  # setting by setting, so that some have all their folds in time
        cells.sort(key=lambda cell: cell[1])
    folds = FoldsOnCluster(client, data, "tune", estimator, scorer, scores.with_training)
    names = [f"Setting {shown(settings[place])} on fold {fold}" for fold, place in cells]
    pieces = [(fold, settings[place]) for fold, place in cells]
    found: dict[int, _FoldScore] = {}
    for number, score in folds.results(scored, pieces, names, clock, n_sure=n_folds):
        found[number] = score
        listener.done(len(found))
    for number, score in sorted(found.items()):
        fold, place = cells[number]
        scores.put(place, fold, score)
    n_found = Counter(cells[number][1] for number in found)
    judged = [place for place in range(len(settings)) if n_found[place] == n_folds]
    scores.keep(judged)
    return [settings[place] for place in judged]


def _refuse_other_order(X: Any, estimator: Any) -> None:
    """Explain the order of the arguments if the third is no estimator: it used to be the first."""
    if hasattr(estimator, "get_params"):
        return
    if hasattr(X, "get_params"):
        raise TypeError("tune takes the table first, as compare does: tune(X, y, estimator, grid).")
    raise TypeError(
        f"tune takes an estimator in the third place: tune(X, y, estimator, grid); got {shown(estimator)}."
    )


@dataclass
class _FoldScore:
    """How a setting did on a fold."""

    test: float = float("nan")
    train: float = float("nan")
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    error: str | None = None


def scored(
    fold: Fold, estimator: Any, scorer: Any, with_training: bool, setting: Mapping[str, Any]
) -> _FoldScore:
    """Fit and score a setting on a fold."""
    X_fit, X_judge = fold.X_fit(estimator), fold.X_judge(estimator)
    score, start = _FoldScore(), time.perf_counter()
    try:
        model = Candidate(estimator, setting).fitted(X_fit, fold.y_fit)
        fitted = time.perf_counter()
        score.test = scorer(model, X_judge, fold.truth.y)
        score.fit_seconds = fitted - start
        score.score_seconds = time.perf_counter() - fitted
        if with_training:
            score.train = scorer(model, X_fit, fold.y_fit)
    except Exception as error:
        text = " ".join(str(error).split())
        score.error = f"{type(error).__name__} in fold {fold.number}: {text}"
    return score


class _TrialScores:
    """Scores and seconds of every setting in every fold; NaN where a setting failed."""

    def __init__(self, n_settings: int, n_folds: int, *, with_training: bool) -> None:
        self.with_training = with_training
        self.errors: dict[int, str] = {}
        shape = (n_settings, n_folds)
        self.test, self.train = np.full(shape, np.nan), np.full(shape, np.nan)
        self.fit_seconds, self.score_seconds = np.zeros(shape), np.zeros(shape)

    def put(self, place: int, fold: int, score: "_FoldScore") -> None:
        """Write down how a setting did on a fold."""
        at = (place, fold - 1)
        self.test[at], self.train[at] = score.test, score.train
        self.fit_seconds[at], self.score_seconds[at] = score.fit_seconds, score.score_seconds
        if score.error is not None:
            self.errors.setdefault(place, score.error)

    def keep(self, places: Sequence[int]) -> None:
        """Forget all settings but some."""
        self.errors = {new: self.errors[place] for new, place in enumerate(places) if place in self.errors}
        for name in ("test", "train", "fit_seconds", "score_seconds"):
            setattr(self, name, getattr(self, name)[list(places)])

    def complain(self, settings: Sequence[Mapping[str, Any]]) -> None:
        """Warn of settings that failed; raise if all have."""
        if not self.errors:
            return
        place, why = next(iter(self.errors.items()))
        text = f"{len(self.errors)} of {len(settings)} settings failed, first {settings[place]}: {why}"
        if len(self.errors) == len(settings):
            raise ValueError(f"tune: {text}")
        warn(text, CandidateWarning)

    def results(self, settings: list[dict[str, Any]]) -> dict[str, Any]:
        """Lay the results out under the names that GridSearchCV gives them."""
        results: dict[str, Any] = {}
        for name, seconds in (("fit", self.fit_seconds), ("score", self.score_seconds)):
            results |= {f"mean_{name}_time": seconds.mean(axis=1), f"std_{name}_time": seconds.std(axis=1)}
        for name in sorted({name for setting in settings for name in setting}):
            results[f"param_{name}"] = _column(settings, name)
        results["params"] = settings
        results |= self._scores("test", self.test)
        worst = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
        results["rank_test_score"] = rankdata(-worst, method="min").astype(np.int32)
        if self.with_training:
            results |= self._scores("train", self.train)
        return results

    def _scores(self, which: str, scores: FloatArray) -> dict[str, Any]:
        folds = {f"split{k}_{which}_score": scores[:, k] for k in range(scores.shape[1])}
        return {
            **folds,
            f"mean_{which}_score": scores.mean(axis=1),
            f"std_{which}_score": scores.std(axis=1),
        }


def _column(settings: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Return the values of a parameter, masked where a setting does not have it."""
    column = np.ma.MaskedArray(np.empty(len(settings), dtype=object), mask=True)
    for place, setting in enumerate(settings):
        if name in setting:
            column[place] = setting[name]
    return column


def _simplest_close(
    settings: Sequence[Mapping[str, Any]], results: Mapping[str, Any], best: int, n_folds: int
) -> int:
    """Find the simplest setting within one standard error of the best; of equally simple ones the better."""
    means = results["mean_test_score"]
    spread = np.array([results[f"split{k}_test_score"][best] for k in range(n_folds)])
    limit = means[best] - (spread.std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else 0.0)
    ranks = simplicity(settings)
    close = [place for place in range(len(settings)) if means[place] >= limit or place == best]
    return min(close, key=lambda place: (ranks[place], -means[place], place))


# --- The result --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tuned:
    """Every setting with its scores. `cv_results_` has the keys of scikit-learn's GridSearchCV.

    `best_params_` and `best_score_` are those of the best setting, `one_standard_error_params_` those of the
    simplest setting within one standard error of it. `best_estimator_` is refitted on all rows with the one
    that `choose` names. `errors` says, by position, which settings failed.
    """

    settings: Sequence[Mapping[str, Any]] = field(repr=False)
    cv_results_: Mapping[str, Any] = field(repr=False)
    best_index_: int
    one_standard_error_index_: int
    chosen_index_: int
    best_estimator_: Any = field(repr=False)
    errors: Mapping[int, str]
    n_folds: int

    @property
    def best_params_(self) -> dict[str, Any]:
        """The setting with the best mean score."""
        return dict(self.settings[self.best_index_])

    @property
    def best_score_(self) -> float:
        """Its mean score."""
        return float(self.cv_results_["mean_test_score"][self.best_index_])

    @property
    def one_standard_error_params_(self) -> dict[str, Any]:
        """The simplest setting within one standard error of the best."""
        return dict(self.settings[self.one_standard_error_index_])

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each mean score, from its spread over the folds."""
        scores = np.array([self.cv_results_[f"split{k}_test_score"] for k in range(self.n_folds)])
        if self.n_folds < 2:
            return np.full(len(self.settings), np.nan)
        errors: FloatArray = scores.std(axis=0, ddof=1) / np.sqrt(self.n_folds)
        return errors

    @property
    def records(self) -> list[dict[str, Any]]:
        """A dict per setting, the best first."""
        order = np.argsort(self.cv_results_["rank_test_score"], kind="stable")
        return [
            {
                **{name: _plain(value) for name, value in self.settings[place].items()},
                "score": float(self.cv_results_["mean_test_score"][place]),
                "standard error": float(self.standard_errors[place]),
                "fit seconds": float(self.cv_results_["mean_fit_time"][place]),
                "choice": self._choice(int(place)),
            }
            for place in order
        ]

    def _choice(self, place: int) -> str:
        chosen = {"best": self.best_index_, "one standard error": self.one_standard_error_index_}
        return ", ".join(name for name, index in chosen.items() if index == place)

    @property
    def frame(self) -> Any:
        """The settings as a data frame of pandas or polars, whichever is there; else the records."""
        return as_frame(self.records)

    def plot(self, parameter: str | None = None, *, ax: Any = None) -> Any:
        """Draw the scores against a parameter; return the axes."""
        from hornbeam.plot import validation_curve  # noqa: PLC0415 - matplotlib is for those who draw

        return validation_curve(self, param_name=parameter, ax=ax)

    def __rich__(self) -> Any:
        """Show the settings in a terminal."""
        from hornbeam.selection.sheets import Sheet  # noqa: PLC0415 - only who prints pays for its import

        names, titles, rows = self._cells()
        return Sheet(titles, rows, n_keys=len(names), left=frozenset({titles.index("choice")}))

    def _repr_html_(self) -> str:
        """Show the settings in a notebook."""
        return html_table(*self._cells()[1:])

    def _cells(self) -> tuple[list[str], list[str], list[list[str]]]:
        """Return the parameters that were tried, the titles of all columns, and a line per setting."""
        names = sorted({name for setting in self.settings for name in setting})
        titles = [*names, "score", "±", "choice", "fit s"]
        rows = []
        for record in self.records:
            cells = [printable(record[name]) if name in record else "" for name in names]
            numbers = [f"{record['score']:.4g}", f"{record['standard error']:.2g}"]
            choice = record["choice"].replace("one standard error", "1 s.e.")
            rows.append([*cells, *numbers, choice, f"{record['fit seconds']:.2g}"])
        return names, titles, rows

    def __str__(self) -> str:
        from hornbeam.selection.sheets import as_text  # noqa: PLC0415

        return as_text(self)

    def __repr__(self) -> str:
        return str(self)


def _plain(value: Any) -> Any:
    """Keep what a cell of a data frame can hold, and name the rest."""
    return value if value is None or isinstance(value, bool | int | float | str) else shown(value)
