"""Frontier: what to fetch next, and when. It owns the hosts of the partitions it has claimed.

**How a host lives.** A host is born when the first of its URLs is admitted, and is kept for ever as
one row (`rows.HostRow`). It is in one of five conditions:

    idle          nothing in its queue
    ready         it may be visited now
    resting       visited a moment ago: the courtesy delay is not over
    checked out   a fetcher has it, under a lease, with a batch of its URLs
    blocked       not before a given time: it is down, has no name, or said Retry-After

Ready hosts are taken in the order of the request number of the first URL in their queue, resting
ones come back by time (the workbench; PolyBot, section 3.4). The check-out is written to the store
before the order goes out, in the same advance: whatever dies, a host never has two fetchers. An
order that nobody answers ends with its lease.

**Where a URL waits.** In its host's queue: append-only segments of rows with a cursor in the host's
row, dropped whole when passed (`queue.py`). The cursor moves when the outcome is known, not when
the URL is ordered: a crash repeats at most the batch that was checked out. What is tried again
later waits in due-time buckets (`calendar.py`).

**What is in memory.** For each host that is neither idle nor blocked, up to `loaded_limit`, its row
and its robots rules. All others wait in the directory (`directory.py`), listed by request number;
they are loaded in that order, and a host that becomes ready while one with a lower number waits
there makes room for it. So memory is bounded, and PolyBot's guarantee holds all the same: two URLs
of a host are fetched in the order they were asked for, and so are URLs of different hosts unless
politeness, or a host that is down, held one back.

**Who may write.** A frontier instance claims each partition it is given with a new epoch; orders
carry it. On the laptop all partitions belong to one instance, and everybody of an older epoch is
known to be dead; in a fleet nobody is, so leases of an older epoch are waited for.
"""
