"""Recipes: which rows, which weights, which targets, how many trees, when to stop."""
