"""Prediction: every path, on every instruction set, against the slow walk."""
