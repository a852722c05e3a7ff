"""The schemas of the log and the store. `schemas/README.md` describes the files.

This package is installed because the code reads the topics at run time (`gossamer.events.topics`).
The module itself contains only a docstring. `python -m gossamer.schemas` writes all generated
files.
"""
