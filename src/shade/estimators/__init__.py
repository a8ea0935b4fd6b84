"""The estimators: parameters, attributes and doors to the rooms below."""
