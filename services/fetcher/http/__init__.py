"""The fetcher's shell: aiohttp, DNS, and the gaps between requests that were left."""
