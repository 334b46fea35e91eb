"""`python -m vivavoce`: the `vivavoce` command, where it is not on the path."""

from vivavoce.cli import main

main()
