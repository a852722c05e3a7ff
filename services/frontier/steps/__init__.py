"""The steps of a URL: its admission, its check-out with an order, and its check-in with an
outcome."""
