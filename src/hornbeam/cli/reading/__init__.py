"""Reading tables at the command line: files and pipes, their format, the types of their columns."""
