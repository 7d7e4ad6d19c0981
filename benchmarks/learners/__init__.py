"""How each library fits and predicts, with its settings matched to the others'."""
