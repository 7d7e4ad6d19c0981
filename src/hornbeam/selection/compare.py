"""`hb.compare`: a leaderboard of the whole family on one table."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hornbeam.data.content import Rows
from hornbeam.data.sources import refuse_no_table
from hornbeam.data.streams.encoded_table import EncodedTable
from hornbeam.data.table import read_table
from hornbeam.data.task import Task, task_of
from hornbeam.declare.kinds import shown
from hornbeam.inside.html import html_table
from hornbeam.inside.words import named, printable
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.listen import listening
from hornbeam.selection.ahead import Ahead
from hornbeam.selection.contest import OUT_OF_TIME, Contest, Entry
from hornbeam.selection.family import BASELINE, choose_family, choose_from_bins
from hornbeam.selection.folds import Folded, own_target, random_splitter, refuse_target
from hornbeam.selection.frames import as_frame
from hornbeam.selection.metrics import Metric, chosen_metrics
from hornbeam.selection.score_errors import Scores, judge
from hornbeam.selection.thresholds import Threshold, chosen_threshold
from hornbeam.selection.trials import Candidate
from hornbeam.selection.verdict import informative_first, standing_of, verdict

__all__ = ["DEFAULT_SECONDS", "Comparison", "compare"]

DEFAULT_SECONDS = 300.0  # of a comparison


def compare(
    X: Any,
    y: Any = None,
    *,
    task: Task | None = None,
    methods: Iterable[str] | None = None,
    add: Mapping[str, Any] | None = None,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    search: bool = True,
    inner_cv: Any = 3,
    time_budget: float | None = DEFAULT_SECONDS,
    threshold: Any = None,
    n_bootstrap: int = 200,
    random_state: Any = None,
    client: Any = None,
    verbose: int = 0,
) -> "Comparison":
    """Compare the whole family on one table: the same folds for all, error bars, and a verdict in words.

    y is the target of the rows, or the name of its column in a frame X. `task` is decided by y if left out.
    `methods` chooses among the members (`NAMES` in `hornbeam.selection.family`), `add` brings in estimators
    or functions of your own, by name: a function takes X and y and returns a fitted estimator or a function
    from X to answers. `cv` is a number of shuffled folds, a splitter of scikit-learn or an iterable of
    splits; `groups` keeps rows together. `scoring` names the metric that decides, or is a function of truth
    and predictions; left out, it is accuracy or RMSE, but where no method has a better accuracy than the
    guess, as is common with rare classes, log loss or the area under the ROC curve decides, if that tells
    methods from the guess.

    `threshold`, for two classes, is the probability from which on the second is predicted: a number, the name
    of a metric to maximise on rows that the winner has not seen, or the costs of mistakes, as a dict from
    each class to the cost of missing a row of it. `Comparison.decide` uses it.

    X may be an `EncodedTable`, which has a target of its own: the methods are then those that learn from
    bins, and folds have the bins of all rows.

    With `search`, the few parameters that matter are searched inside the training rows of each fold, by
    `inner_cv` folds in there. `time_budget` is in seconds, by default five minutes: first every member is
    fitted, the quickest first, then searches follow while there is time, and the verdict says what there was
    no time for; the winner is refitted in any case. With `None`, and if the time was enough, the result
    follows from the data and `random_state` alone.

    `client` is that of a Dask cluster: its workers get the table once, and then a method and a fold at a
    time. If the time was enough, the result is that of one machine.
    """
    _check(time_budget, n_bootstrap)
    refuse_no_table(X)
    if np.ndim(X) == 1 and np.ndim(y) == 2:
        raise ValueError("The table comes first: compare(X, y). X has one dimension here, and y has two.")
    X, y, groups = own_target(X, y, groups, reader="compare")
    clock = Clock(time_budget)
    chosen_task = task or task_of(y)
    seed = _seed(random_state)
    data = _folded(X, y, cv, task=chosen_task, groups=groups, seed=seed)
    metrics = chosen_metrics(chosen_task, 0 if data.classes is None else len(data.classes), scoring)
    if isinstance(X, EncodedTable):
        members, wants_stack = (
            choose_from_bins(chosen_task, X.table, methods, add, max_bins=X.max_bins),
            False,
        )
    else:
        table = read_table(X, estimator_name="compare")
        members, wants_stack = choose_family(chosen_task, table, methods, add)
    with listening(verbose, "comparing") as listener:
        contest = Contest(
            data=data,
            task=chosen_task,
            members=members,
            metric=metrics[0],
            clock=clock,
            listener=listener,
            inner_cv=inner_cv,
            seed=seed,
            wants_search=search,
            wants_stack=wants_stack,
            ahead=Ahead(client, data),
        )
        contest.run()
    finished = [entry for entry in contest.entries if entry.failure is None]
    if not finished:
        first = contest.entries[0]
        raise ValueError(f"compare: every method failed. {first.name}: {first.failure}")
    trials = [entry.trials for entry in finished]
    scores = judge(data, trials, metrics, n_draws=n_bootstrap, seed=seed)
    names = [entry.name for entry in finished]
    if scoring is None:
        metrics, scores = informative_first(names, metrics, scores)
    best = finished[standing_of(names, metrics[0], scores).best]
    limit = None
    if threshold is not None:
        limit = chosen_threshold(threshold, [fold.truth for fold in data.folds], best.trials)
    return Comparison(
        task=chosen_task,
        metrics=tuple(metrics),
        scores=scores,
        entries=tuple(finished),
        failures={e.name: e.failure for e in contest.entries if e.failure is not None},
        seed=seed,
        splits=tuple(data.splits),
        threshold=limit,
        cut_short=contest.cut_short,
        best_=_refitted(contest.candidate(best.member, best.usual_settings), X, data.y),
    )


def _refitted(winner: Candidate, X: Any, y: Any) -> Any:
    """Fit the winner on all rows; what it warned of in the folds stands in the comparison already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return winner.fitted(X, y)


def _check(time_budget: float | None, n_bootstrap: int) -> None:
    if time_budget is not None and not time_budget > 0:
        raise ValueError(
            f"time_budget must be a number of seconds above 0, or None; got {shown(time_budget)}."
        )
    if isinstance(n_bootstrap, bool) or not isinstance(n_bootstrap, int) or n_bootstrap < 2:
        raise ValueError(f"n_bootstrap must be a whole number >= 2; got {shown(n_bootstrap)}.")


def _seed(random_state: Any) -> int:
    """Return the seed of all draws: what was given, if that is a number."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _folded(X: Any, y: Any, cv: Any, *, task: Task, groups: Any, seed: int) -> Folded:
    splitter = cv
    refuse_target(X, y, task, reader="compare")
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        n_rows = len(np.asarray(y))
        if not 2 <= cv <= n_rows:
            raise ValueError(f"cv={cv}: the number of folds must be from 2 to the {n_rows} row(s) there are.")
        splitter = random_splitter(int(cv), np.asarray(y), task=task, grouped=groups is not None, seed=seed)
    elif isinstance(cv, bool | float | str) or cv is None:
        raise ValueError(
            f"cv must be a number of folds, a splitter or an iterable of splits; got {shown(cv)}."
        )
    return Folded.of(X, y, splitter, task=task, groups=groups, reader="compare")


# --- The result --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Comparison:
    """A leaderboard. `best_` is the winner, refitted on all rows with the settings that most folds chose.

    `frame` has a line per method, the best first; `verdict` says in words what it shows; `failures` says why
    methods are not in it and `cut_short` what there was no time for; `splits` are the rows of the folds;
    `plot()` draws the scores with their error bars. `scores` has everything per fold.
    """

    task: Task
    metrics: tuple[Metric, ...]
    scores: Scores
    entries: tuple[Entry, ...]
    failures: Mapping[str, str]
    seed: int
    threshold: Threshold | None
    cut_short: str | None
    splits: tuple[tuple[Rows, Rows], ...] = field(repr=False)
    best_: Any = field(repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The methods, the best first."""
        return tuple(self.entries[m].name for m in self._order)

    @property
    def best_name(self) -> str:
        """The method that won."""
        return self.names[0]

    @cached_property
    def _order(self) -> list[int]:
        values = self.metrics[0].sign() * self.scores.values[:, 0]
        return [int(m) for m in np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")]

    def decide(self, X: Any) -> Any:
        """Return the winner's answers to rows; of two classes, the second from `threshold` on."""
        if self.threshold is None:
            return self.best_.predict(X)
        probabilities = self.best_.predict_proba(X)[:, 1]
        return np.asarray(self.best_.classes_)[(probabilities >= self.threshold.share).astype(np.intp)]

    def estimator(self, name: str) -> Any:
        """Return a method, unfitted, with the settings that most folds chose."""
        for entry in self.entries:
            if entry.name == name:
                return Candidate(entry.member.template, entry.usual_settings, self.seed).made()
        raise KeyError(f"There is no {name!r} in the comparison; there are {', '.join(self.names)}.")

    @cached_property
    def verdict(self) -> str:
        """What the numbers say, in words."""
        names = [entry.name for entry in self.entries]
        said = verdict(names, self.metrics, self.scores, list(self.failures))
        if self.cut_short is not None:
            said += f" {self.cut_short}"
        if self.threshold is not None:
            return f"{said} {self.threshold.sentence}"
        if self.metrics[0].needs_probabilities and len(getattr(self.best_, "classes_", ())) == 2:
            said += " To act on probabilities, choose a threshold (threshold=)."
        return said

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """A dict per method, the best first."""
        return [self._record(m) for m in self._order]

    @property
    def frame(self) -> Any:
        """The leaderboard as a data frame of pandas or polars, whichever is there; else the records."""
        return as_frame(self.records)

    def _record(self, m: int) -> dict[str, Any]:
        entry, names = self.entries[m], [entry.name for entry in self.entries]
        behind, error = self.scores.difference(m, self._order[0])
        record: dict[str, Any] = {"method": entry.name}
        for k, metric in enumerate(self.metrics):
            record[metric.name] = float(self.scores.values[m, k])
            record[f"{metric.name} se rows"] = float(self.scores.spread_over_rows[m, k])
            record[f"{metric.name} se folds"] = float(self.scores.spread_over_folds[m, k])
        baseline = self.scores.values[names.index(BASELINE), 0] if BASELINE in names else float("nan")
        return {
            **record,
            "improvement": self.metrics[0].skill(record[self.metrics[0].name], float(baseline)),
            "behind the best": abs(behind),
            "behind se": error,
            "fit seconds": float(np.mean([trial.fit_seconds for trial in entry.trials])),
            "predict seconds": float(np.mean([trial.predict_seconds for trial in entry.trials])),
            "bytes": entry.trials[0].n_bytes,
            "searched": entry.searched,
            "settings": _setting_words(entry.usual_settings) if entry.searched else "",
        }

    @property
    def warnings(self) -> dict[str, tuple[str, ...]]:
        """What methods warned of, each text once."""
        found = {
            entry.name: tuple(dict.fromkeys(text for trial in entry.trials for text in trial.warnings))
            for entry in self.entries
        }
        return {name: texts for name, texts in found.items() if texts}

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the scores with their error bars; return the axes."""
        from hornbeam.plot import comparison  # noqa: PLC0415 - matplotlib is for those who draw

        return comparison(self, ax=ax)

    @property
    def _failures_in_words(self) -> list[tuple[str, str]]:
        """The failures that the verdict does not explain; who had no time is named there."""
        return [(name, why) for name, why in self.failures.items() if why != OUT_OF_TIME]

    def _repr_html_(self) -> str:
        """Show the leaderboard in a notebook."""
        failed = "".join(f" {name}: {why}" for name, why in self._failures_in_words)
        rows = [_cells(record, self.metrics) for record in self.records]
        return html_table(_titles(self.metrics), rows, self.verdict + failed)

    def __rich__(self) -> Any:
        """Show the leaderboard in a terminal."""
        from rich.console import Group  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        from hornbeam.selection.sheets import Sheet  # noqa: PLC0415 - only who prints pays for its import

        table = Sheet(
            _titles(self.metrics),
            [_cells(record, self.metrics) for record in self.records],
            dim_rows=frozenset(place for place, name in enumerate(self.names) if name == BASELINE),
        )
        failed = [Text(f"{named(name)}: {printable(why, 300)}") for name, why in self._failures_in_words]
        return Group(table, Text(), Text(self.verdict), *failed)

    def __str__(self) -> str:
        from hornbeam.selection.sheets import as_text  # noqa: PLC0415

        return as_text(self)

    def __repr__(self) -> str:
        return str(self)


def _titles(metrics: Sequence[Metric]) -> list[str]:
    """Name the columns, what decides first: a narrow window shows the last ones below."""
    first, *others = (metric.name for metric in metrics)
    return ["method", first, "± rows", "± folds", "improved", "fit s", "predict s", "size", *others]


def _cells(record: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    first, *others = (metric.name for metric in metrics)
    return [
        named(record["method"]) + (" *" if record["searched"] else ""),
        f"{record[first]:.4g}",
        f"{record[f'{first} se rows']:.2g}",
        f"{record[f'{first} se folds']:.2g}",
        "" if np.isnan(record["improvement"]) else f"{round(100 * record['improvement'])} %",
        f"{record['fit seconds']:.2g}",
        f"{record['predict seconds']:.2g}",
        _size_words(record["bytes"]),
        *(f"{record[name]:.4g}" for name in others),
    ]


def _size_words(n_bytes: int | None) -> str:
    if n_bytes is None:
        return ""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes = n_bytes / 1000  # type: ignore[assignment]
    return f"{n_bytes:.3g} GB"


def _setting_words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('__')[2]}={shown(value)}" for name, value in settings.items())
