"""The house: a whole crawl on one machine, everything embedded, in one folder.

**Who runs.** The parent only watches: it reads totals from the store and shows them. Three children
do the work, each on its own connection to the one SQLite file: *machines* (dedup, frontier and
archive, in turn), *fetcher*, and *parser* with its worker processes. They meet on the log alone.

**How it begins.** The folder is locked, its file checked; what the crawl is (scope, limits) goes to
the `control` topic and the seeds to `seeds`, as an operator of a fleet would send them. That nobody
of an earlier run is alive is what the lock proves: so hosts that were checked out then are free
after their delay, and orders of older epochs are void.

**How it ends.** When every topic is read to its end and no host has anything to do (hosts that are
blocked for longer than the house's patience are left for another run); or at a limit, or at Ctrl-C:
then the crawl is paused on the control topic, what is under way is finished, and the house closes.
Killed at any instant instead, the next run on the folder goes on from what the log and the store
say. Children die with their parent.
"""
