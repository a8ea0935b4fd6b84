"""Triton's interpreter, so that kernel logic is tested without a GPU. Import this before any Triton kernel."""

import os

os.environ["TRITON_INTERPRET"] = "1"

from triton.runtime import interpreter

_patch = interpreter._patch_lang_tensor


def _patch_lang_tensor(tensor: object, scope: object) -> None:
    """NumPy 2.4 no longer turns an array of one element into an int; the interpreter counts on it."""
    _patch(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.reshape(())))  # type: ignore[attr-defined]


interpreter._patch_lang_tensor = _patch_lang_tensor
