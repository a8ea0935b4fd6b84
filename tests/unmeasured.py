"""Programs whose coverage is not measured: following every line would take most of their time."""

import os


def unmeasured(**variables: str) -> dict[str, str]:
    """The environment of this process with other variables, without those that measure coverage."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_PROCESS")}
    return {**kept, **variables}
