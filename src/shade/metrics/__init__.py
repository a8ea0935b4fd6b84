"""How good a clustering is: agreement with a truth, separation of known classes, and indices that need no truth."""

from shade.metrics.agreement import Agreement, measure_agreement
from shade.metrics.dcsi import dcsi_score
from shade.metrics.internal import dbcv_score, disco_samples, disco_score

__all__ = ["Agreement", "dbcv_score", "dcsi_score", "disco_samples", "disco_score", "measure_agreement"]
