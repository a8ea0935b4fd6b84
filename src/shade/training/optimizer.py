"""torch's Adam without its support for torch.compile, which imports modules for seconds at the first step."""

from __future__ import annotations

import inspect
from typing import Any

import torch

_step = inspect.unwrap(torch.optim.Adam.step)
_add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
_zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)


class EagerAdam(torch.optim.Adam):
    """Adam with exactly the same steps, bit by bit."""

    def step(self, closure: Any = None) -> Any:
        """Take a step with the current gradients."""
        with torch.no_grad():
            return _step(self, closure)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; the constructor calls this."""
        _add_param_group(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients."""
        _zero_grad(self, set_to_none)
