"""Tables that need not fit into memory: read in blocks, encoded in two passes, kept in a file."""
