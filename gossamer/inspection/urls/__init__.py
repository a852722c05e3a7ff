"""URLs: their state, their visits, and their planned revisits."""
