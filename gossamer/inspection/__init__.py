"""The read model: a crawl, in a folder or in a fleet, as typed data.

`crawls.crawl.open_crawl` opens a crawl. It has eight wings, each of which uses only the wings after
it; import-linter checks this:

1. `answers/`: what operators ask first: the overview, a host, the failures, a fetched page, the
   limits that were reached; and `exports/`: documents, parts of them and URLs as rows.
2. `urls/` (`urls.explain_url`, `visits.read_history`) and `progress/` (`status.read_status`,
   `report.read_report`).
3. `archive/`: captures and their texts (`versions.read_version`, `comparison.compare_versions`),
   and `hosts/` (`hosts.read_hosts`, `hosts.read_sites`; `host_index` has a million hosts for search
   and sorting).
4. `crawls/`: the crawls, what operators changed, and dead letters.
5. `basics/`: `labels.py` and `figures.py` contain the words and the number formats for people.

The command line, the HTTP API and Python programs are views of this data. A view reads no tables.
"""
