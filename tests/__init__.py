"""Tests of shade, one folder a room."""
