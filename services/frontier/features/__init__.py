"""Abilities that the steps of a URL call: each module is about one of them."""
