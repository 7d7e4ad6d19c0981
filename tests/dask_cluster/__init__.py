"""Boosting and forests on a cluster of Dask."""
