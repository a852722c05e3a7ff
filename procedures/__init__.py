"""Procedures on a whole crawl: snapshot, restore, alignment, move, resize and erasure.

Each procedure is a function that the commands call and programs may call. It is told log, store and
time, and yields or returns what it did.
"""
