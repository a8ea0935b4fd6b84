"""scikit-learn's own checks, with no exception."""

from collections.abc import Callable

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shade import SHADE, DCTreeClustering


# The checks want two or three clusters of twenty rows, which may be too few.
@pytest.mark.filterwarnings("ignore:Only . clusters? instead of")
@parametrize_with_checks([SHADE(epochs=5), DCTreeClustering()])
def test_estimators_pass_the_checks_of_scikit_learn(estimator: object, check: Callable[[object], None]) -> None:
    check(estimator)
