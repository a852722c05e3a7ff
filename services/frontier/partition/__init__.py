"""A claimed partition and its parts. Each part owns its state, and the partition alone changes its
hosts."""
