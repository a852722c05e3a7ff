"""The read model: a crawl, in a folder or in a fleet, as typed data.

`crawl.py` opens a crawl. Functions on it return data that stand alone: `urls.explain_url`,
`visits.read_history`, `hosts.read_hosts`, `hosts.read_sites`, `status.read_status`. The command
line, the HTTP API and Python programs are views of these data. Only this package reads the tables
of several services; a view never does. `labels.py` and `figures.py` have the words and numbers for
people.
"""
