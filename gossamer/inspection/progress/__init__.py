"""How far a crawl is: its totals, its days, its lag, and how fresh its copies are."""
