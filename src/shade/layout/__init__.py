"""A map of points of many dimensions: two coordinates per point, for plots."""

from shade.layout.point_map import PointMap, map_points

__all__ = ["PointMap", "map_points"]
