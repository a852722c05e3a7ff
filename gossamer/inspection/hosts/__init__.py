"""Hosts, sites and their parts, and the index by which hosts are searched."""
