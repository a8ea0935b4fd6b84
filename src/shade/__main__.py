"""`python -m shade` is the command line."""

from shade.cli import main

main()
