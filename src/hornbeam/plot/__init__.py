"""Pictures: a model or data in, matplotlib axes out.

Every function takes `ax=` to draw into axes that are there already and returns the axes it drew into. Nothing
is shown or saved: that is left to the caller. matplotlib is imported when something is drawn.
"""

from hornbeam.plot.bias_variance import bias_variance
from hornbeam.plot.bootstrap import bootstrap
from hornbeam.plot.boundary import boundary
from hornbeam.plot.comparison import comparison
from hornbeam.plot.contributions import contributions
from hornbeam.plot.curves import learning_curve, validation_curve
from hornbeam.plot.effect import effect
from hornbeam.plot.forest_size import forest_size
from hornbeam.plot.importance import importance
from hornbeam.plot.impurities import impurities
from hornbeam.plot.pruning import pruning
from hornbeam.plot.rounds import reweighting, rounds
from hornbeam.plot.tree import tree

__all__ = [
    "bias_variance",
    "bootstrap",
    "boundary",
    "comparison",
    "contributions",
    "effect",
    "forest_size",
    "importance",
    "impurities",
    "learning_curve",
    "pruning",
    "reweighting",
    "rounds",
    "tree",
    "validation_curve",
]
