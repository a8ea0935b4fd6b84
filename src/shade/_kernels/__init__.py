"""Compiled kernels: plain functions on arrays, without Python objects and without the interpreter lock."""
