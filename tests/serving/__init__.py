"""A model behind HTTP."""
