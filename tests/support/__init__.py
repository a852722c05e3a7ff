"""Helpers of several test folders, independent of the crawler's logic."""
