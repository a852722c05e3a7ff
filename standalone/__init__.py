"""A whole crawl on one machine: everything embedded, in one folder.

**Who runs.** The parent only watches: four times a second it looks whether anything was committed,
and if so it reads the totals from the store and shows them. Three children do the work, each with
its own connection to the one SQLite file: *processors* (dedup, frontier and archive, one after
another, since each step is short and a file has one writer at a time), *fetcher*, and *parser* with
its worker processes. They meet on the log alone, as in a fleet, and run the same classes.

**How it starts.** The parent forks its children before it opens a file or starts a thread, so that
what all of them import is loaded once and shared. The folder is locked and its file checked. The
definition of the crawl (scope, limits) goes to the `control` topic and the seeds to `seeds`, as an
operator of a fleet would send them. The lock proves that no process of an earlier run is alive. So
hosts that were checked out then are free after their delay, without waiting for a lease, and orders
of earlier epochs are void.

**How it ends.** By itself when every topic is read to its end and no host has anything to do; hosts
that back off for longer than `standalone.patience` are left to another run. At a limit or at
Ctrl-C the crawl is paused on the `control` topic, what is under way is finished, and the children
stop; a second Ctrl-C stops at once.

**Why a kill costs nothing.** Log and store are one file, so an advance is one transaction: records
are handled, or they are not. Killed at any instant, the same command goes on from what the file
says; at most the batches that were checked out are fetched again. When the parent dies its children
die too, so that nobody works on a folder that looks free; when a child dies, the parent stops the
others and says why.

**Who sees what.** `progress.py` reads totals that the frontier writes in the same transactions as
its hosts, so no crash makes the report wrong. `metrics.py` shows the metrics of all four processes
on one port, if asked to.
"""
