"""Tests of gradient boosting, from the engine to the estimators."""
