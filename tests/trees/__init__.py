"""Single trees: their laws, draws, missing values and pruning."""
