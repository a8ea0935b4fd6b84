"""Quality of a clustering: agreement with true classes, separation of known classes, and indices without a truth."""

from shade.metrics.agreement import Agreement, measure_agreement
from shade.metrics.dcsi import dcsi_score
from shade.metrics.internal import dbcv_score, disco_samples, disco_score

__all__ = ["Agreement", "dbcv_score", "dcsi_score", "disco_samples", "disco_score", "measure_agreement"]
