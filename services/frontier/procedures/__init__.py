"""Changes of whole hosts, sites, crawls and partitions: erasures, removals, another number of
partitions."""
