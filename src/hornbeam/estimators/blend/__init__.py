"""Blends: weighted means of members."""

from hornbeam.estimators.blend.blend import BlendClassifier, BlendRegressor

__all__ = ["BlendClassifier", "BlendRegressor"]
