"""Compiled kernels: plain functions over arrays, no Python objects, no interpreter lock."""
