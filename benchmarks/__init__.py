"""Benchmarks: hornbeam beside its peers, on the same data, in one run (see README.md)."""
