"""Blends: the mean of members with weights."""

from hornbeam.estimators.blend.blend import BlendClassifier, BlendRegressor

__all__ = ["BlendClassifier", "BlendRegressor"]
