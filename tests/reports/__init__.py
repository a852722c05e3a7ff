"""Public reports about crawlers and clients, tried here: a log of them, and a small web.

`README.md` and `hosts.md` are the log. `situations` has the table of the small web: a host for each
situation, with what it answers and what a crawl must request. `web` makes it a web that
`tests/system/test_reports.py` crawls.
"""
