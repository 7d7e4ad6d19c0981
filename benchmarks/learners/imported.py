"""Models of other libraries, brought along by ``hb.from_model``: the peer trains, hornbeam predicts."""

from __future__ import annotations

from typing import Any

from benchmarks.data import Dataset
from benchmarks.harness import Setting
from benchmarks.learners.base import Learner


class Imported(Learner):
    """A peer's model of two classes, as one of ours; reading and comparing it is not timed."""

    def __init__(self, peer: Learner) -> None:
        self.peer = peer
        self.needs = (*peer.needs, "hornbeam.from_model")

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import hornbeam

        model = hornbeam.from_model(self.peer.fit(data, setting), rows=data.X_test[:500])
        return model.set_params(n_jobs=setting.threads)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict_proba(X)[:, 1]
