"""Tests of the compiled core, called directly."""
