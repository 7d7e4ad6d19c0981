"""Fits from files and streams."""
