"""The fetcher's shell: aiohttp, DNS, whose turn it is at a host, and the gaps that were left."""
