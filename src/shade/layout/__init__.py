"""A map of points of many dimensions: two coordinates for each, made for looking."""

from shade.layout.point_map import PointMap, map_points

__all__ = ["PointMap", "map_points"]
