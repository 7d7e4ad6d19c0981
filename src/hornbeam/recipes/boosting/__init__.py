"""Gradient boosting: losses, rounds, members, and fits whose rows are in several places."""
