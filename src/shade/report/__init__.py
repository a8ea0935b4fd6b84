"""The report: one HTML file to look at, explore and share, which asks nothing of any network."""

from shade.report.page import write_report

__all__ = ["write_report"]
