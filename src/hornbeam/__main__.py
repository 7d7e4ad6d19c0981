"""`python -m hornbeam`: the command line, where its script is not on the path."""

from hornbeam.cli.main import main

main()
