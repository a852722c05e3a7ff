"""The schemas of the log and the store. `schemas/README.md` describes the files.

This package is installed because the code reads the topics at run time (`gossamer.events.topics`).
It contains only a docstring.
"""
