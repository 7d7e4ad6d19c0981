"""Trees on a Dask cluster: hornbeam's estimators on Dask frames, arrays or delayed parts.

The model is the one that a single machine would fit from the same rows in the order of their partitions, bit
for bit, however many workers there are and however the rows are divided, and also if workers are lost on the
way. Everything that goes over the network goes through Dask.
"""

from hornbeam._optional import require

for _package in ("dask", "distributed", "pandas"):
    require(_package, purpose="Fitting on a Dask cluster")

from hornbeam.dask.boosting import GradientBoostingClassifier, GradientBoostingRegressor  # noqa: E402
from hornbeam.dask.forest import (  # noqa: E402
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.dask.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: E402

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
