"""torch's Adam without its provisions for torch.compile, whose modules take seconds to import at the first step."""

from __future__ import annotations

import inspect
from typing import Any

import torch

_step = inspect.unwrap(torch.optim.Adam.step)
_add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
_zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)


class EagerAdam(torch.optim.Adam):
    """The same steps, to the last bit."""

    def step(self, closure: Any = None) -> Any:
        """Step on the gradients there are."""
        with torch.no_grad():
            return _step(self, closure)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Called with the parameters by the constructor."""
        _add_param_group(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        _zero_grad(self, set_to_none)
