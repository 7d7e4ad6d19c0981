"""Tests of the estimators, beside scikit-learn's and the oracle."""
