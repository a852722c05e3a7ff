"""Counts of a partition and of its crawls: since the beginning, by day, and how much is found."""
