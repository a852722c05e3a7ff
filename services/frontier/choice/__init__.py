"""Choices over all claimed partitions: which host is ordered next, by which fetcher, and how
fast."""
