"""Pictures: a model or data in, matplotlib axes out.

Every function takes `ax=` to draw into axes that are there already and returns the axes it drew into. Nothing
is shown or saved: that is left to the caller. matplotlib is imported when something is drawn.
"""

from hornbeam.plot.adaboost import adaboost, margins, row_votes, vote_by_round
from hornbeam.plot.bias_variance import bias_variance
from hornbeam.plot.bootstrap import bootstrap
from hornbeam.plot.boundary import boundary
from hornbeam.plot.comparison import comparison
from hornbeam.plot.contributions import contributions
from hornbeam.plot.curves import learning_curve, validation_curve
from hornbeam.plot.density import density
from hornbeam.plot.distributions import distributions
from hornbeam.plot.effect import effect
from hornbeam.plot.forest_size import forest_size
from hornbeam.plot.importance import importance
from hornbeam.plot.impurities import impurities
from hornbeam.plot.members import members
from hornbeam.plot.neighbours import irrelevant_columns, nearest_distance
from hornbeam.plot.pruning import pruning
from hornbeam.plot.rounds import reweighting, rounds
from hornbeam.plot.stack import stack
from hornbeam.plot.steps import residuals, steps
from hornbeam.plot.targets import targets
from hornbeam.plot.tree import tree

__all__ = [
    "adaboost",
    "bias_variance",
    "bootstrap",
    "boundary",
    "comparison",
    "contributions",
    "density",
    "distributions",
    "effect",
    "forest_size",
    "importance",
    "impurities",
    "irrelevant_columns",
    "learning_curve",
    "margins",
    "members",
    "nearest_distance",
    "pruning",
    "residuals",
    "reweighting",
    "rounds",
    "row_votes",
    "stack",
    "steps",
    "targets",
    "tree",
    "validation_curve",
    "vote_by_round",
]
