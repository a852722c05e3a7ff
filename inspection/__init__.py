"""The read model: a crawl, in a folder or in a fleet, as typed data.

`crawl.py` opens a crawl. `urls.explain_url`, `visits.read_history`, `hosts.read_hosts`,
`hosts.read_sites` and `status.read_status` return its data, and `versions.read_version`,
`page_texts.describe_version` and `comparison.compare_versions` the archived pages.
`overview.read_overview`, `host_details.explain_host` and `failures.read_failure_groups` answer what
operators ask first. `host_index` has a million hosts for search and sorting. The command line, the
HTTP API and Python programs are views of this data. A view reads no tables. `labels.py` and
`figures.py` contain the words and the number formats for people.
"""
