"""ClustPy's SHADE as a peer.

ClustPy declares torchvision, of which there is no CPU build in the package index, and uses it for image networks alone.
`make bench` installs it without; where torchvision is missing, a stand-in is enough to import it.
"""

import functools
import importlib.util
import sys
import types


class _Anything(types.ModuleType):
    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@functools.cache
def load() -> type | None:
    """ClustPy's SHADE, or None where ClustPy is not installed."""
    if importlib.util.find_spec("clustpy") is None:
        return None
    if importlib.util.find_spec("torchvision") is None:
        for name in ("", ".models", ".models._api", ".models.resnet", ".transforms", ".datasets"):
            sys.modules[f"torchvision{name}"] = _Anything(f"torchvision{name}")
    from clustpy.deep import SHADE

    return SHADE
