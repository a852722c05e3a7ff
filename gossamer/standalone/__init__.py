"""All crawls of one folder on one machine: all services embedded.

**Processes.** The parent watches: four times a second it checks whether a transaction was
committed, and if so it reads the totals from the store and shows them. Three children do the work,
each with its own connection to the one SQLite file: *processors* (dedup, frontier and archive, one
after another, because each step is short and a file has one writer at a time), *fetcher*, and
*parser* with its worker processes. They communicate through the log alone, as in a fleet, and run
the same classes.

**Start.** The parent forks its children before it opens a file or starts a thread, so that imported
modules are loaded once and shared. It locks the folder and checks its file. If the command names
seeds, the definition of their crawl (scope, limits) goes to the topic `control` and the seeds to
`seeds`, as an operator of a fleet would produce them. All active crawls of the folder run. The
lock proves that no process of an earlier run is alive. So hosts that were checked out then are free
after their delay, without waiting for a lease, and orders of earlier epochs are fenced.

**End.** A run ends when every topic is consumed to its end and no active crawl has a URL to visit.
Crawls that are paused or at their page limit do not count, and URLs that wait for longer than
`standalone.patience` are left to another run. So are hosts whose courtesy delay lasts for more than
another hour, as after a Crawl-delay of a day. At a limit or at Ctrl-C all crawls are paused
together on the topic `control`, work in flight is finished, and the children stop. A second Ctrl-C
stops at once.

**Crashes.** Log and store are one file, so an advance is one transaction: its records are handled,
or they are not. After a kill at any instant the same command continues from the file; at most the
batches that were checked out are fetched again. If the parent dies, its children exit, so that none
works on a folder that looks free. If a child dies, the parent stops the others and reports the
reason.

**Totals and metrics.** `progress.py` reads totals that the frontier writes in the same transactions
as its hosts, so no crash makes the report wrong. `workload.py` reads what limits the crawl.
`metrics.py` serves the metrics of all four processes on one port, if requested.
"""
