"""The estimators: parameters and checks on the outside, recipes and the model on the inside."""
