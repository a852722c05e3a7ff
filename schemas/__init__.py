"""The contract on the log and in the store; `schemas/README.md` says what lies where.

What the code reads of it at run time are the topics (`gossamer.events.topics`), so this package is
installed with the others. It holds a docstring and nothing else.
"""
