"""The formats of `gossamer export`, and the places that it writes to."""
