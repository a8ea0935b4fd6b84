"""The report: one HTML file to view, explore and share, which needs no network."""

from shade.report.notebook import Explorer, explore
from shade.report.page import write_report

__all__ = ["Explorer", "explore", "write_report"]
