"""The version of shade."""

__version__ = "0.1.0"
