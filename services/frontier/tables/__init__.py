"""The ground floor of the frontier: its rows, rows in buckets, the transitions of a host's
condition, the ranks of URLs, and the curve of what visits have brought."""
