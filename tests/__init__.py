"""The tests. This file makes `tests` the name of this folder, whatever a library installs."""
