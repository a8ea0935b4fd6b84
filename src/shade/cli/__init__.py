"""The command line. Results go to files or standard output, messages to standard error."""

from shade.cli.app import app, main

__all__ = ["app", "main"]
