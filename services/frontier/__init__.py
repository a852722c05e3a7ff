"""Frontier: decides which URLs are fetched next, and when, for the partitions that it has claimed.

Reading order
-------------
`service.py` receives events and time, and passes each event to the partition of its site. Below it
are eight wings. Each uses only the wings after it; import-linter checks this.

1. `procedures/`: changes of whole hosts, sites and partitions. `erasing.py` (`gossamer forget`),
   `removal.py` (of a crawl), `resizing.py` (another number of partitions).
2. `steps/`: the three steps of a URL are `admission.py` (for requested URLs: `urgent.py`),
   `checkout.py` and `checkin.py` (without an outcome: `leases.py`). They use `refusals.py` (rules
   that refuse a URL), `robots.py` (robots.txt, and probes for soft 404), `requisites.py`, and
   `revisits.py` (when a page is visited again).
   Two tables are walked by the steps: `OUTCOME_EFFECTS` in `checkin.py` (`endings.py`: what becomes
   of the URL), and `QUEUE_FATES` in `queue_fates.py`. `verdicts.py` applies what dedup says.
3. `features/`: an ability of the frontier in each module, whose functions are rows of these tables.
4. `choice/`: choices over all partitions. `dispatch.py`: which host is ordered next, and which
   fetcher gets its order. `pacing.py`: the speed of the crawl, and the budget of its revisits.
5. `partition/`: a claimed partition. `partition.py` alone changes its hosts and its totals. Its
   parts: `share.py` (what one crawl has in it), `workbench.py` (hosts in memory), `queue.py` (URLs
   of a host), `directory.py` (hosts that wait), `plans.py` (later visits), `parts.py` (worth and
   parked URLs of sites), `parked.py` (parked URLs in buckets, and by limits of the crawl),
   `awaited_visits.py` (visits that await their verdicts), `sites.py`. `gates.py`: the reasons not
   to visit a host now. `politeness.py`: settings of sites, delays and backoffs. `partitions.py`
   claims partitions under epochs.
6. `worth/`: what parts of a site bring, the budgets of a site, and what suffixes and addresses are
   worth (`zones.py`).
7. `totals/`: `tally.py` and `daily.py` count.
8. `tables/`: rows, by subject. `conditions.py`: the five conditions of a host and the transitions
   between them. `ordering.py`: the strategies of a crawl, and the rank of a URL.
   `bucketed_log.py`: rows in buckets. `totals.py`: how counts of partitions become one.
   `harvest.py`: what visits have brought. Beside it, `revisit/`: the policies of revisits, without
   rows or a clock.

`docs/host-conditions.md` is generated from `conditions.py` and `gates.py`.

Theory of operation
-------------------
**Hosts.** A host exists from the admission of its first URL, and its row (`tables.hosts.HostRow`)
is never deleted, except by an erasure. Ready hosts are ordered by request number, the number of the
first URL in their queues: its rank, then the moment of its admission. Delayed hosts become ready
when their courtesy delay is over. PolyBot calls these its ready queue and waiting queue (section
3.4); here they are the workbench.

**Partitions.** Politeness, budgets and order concern a host, or the site of the host. All events
about a site have the same partition number on all topics, so one frontier decides about a site
alone, without locks. PolyBot would map hosts to frontiers by a hash for this reason (section 2.4).

**Leases.** A host must never have two fetchers. So the check-out is in the store before the order
is in the log: an order without a row could be made twice, while a row without an order only costs
time. A fetcher may crash, or an order be lost, so a check-out is a lease. After an expired lease
the host is delayed, then ordered again. Fetchers start no request after the lease, which is long
enough for the whole batch.

**Epochs.** A paused frontier that wakes up after it lost its partitions must not make orders. A
frontier claims each partition under a new epoch in the store, before it reads the partition's rows.
Orders carry the epoch. Fetchers refuse orders of an older epoch, and a fleet's store ignores writes
of an older epoch. A standalone run knows that all earlier processes have stopped, and frees their
hosts at once; in a fleet their leases must expire first. In both, a frontier applies all unread
outcomes before it ends a lease or makes an order: an outcome may have ended the lease, or contain a
Retry-After of an hour.

**Cursors.** A queue of a host is append-only buckets of rows, with a cursor in the host's row.
The cursor moves with each outcome, not with the order, so a crash repeats at most the batch that
was checked out. PolyBot restarts from snapshots, and leaves duplicate fetches to the application
(section 2.1).

**Restored stores.** The log of a fleet outlives a store that is restored to a backup. The frontier
then reads outcomes of orders that are newer than the last one in the row of their host. They count
like any other, but their URLs are not at the head of a queue, and perhaps not admitted yet. So they
stay queued, the row of the host says up to which request number (`tables.hosts.LostVisits`), and a
check-out skips those whose rows show the visit, like surplus entries of promoted URLs.

**Plans.** A retry, a revisit, and a first visit under a budget are plans. A plan is a row with the
time, the reason, and all data of the next order (`tables.plans.PlanRow`). The calendar is an index
of plans, and of hosts that back off, in buckets by due time. A due entry counts only if its time is
still the time of the plan. Then the URL is appended to its queue.

**Memory.** Memory has at most `loaded_limit` hosts that have work and do not back off. Other hosts
with work wait in the directories of the crawls with URLs at them, ordered by request number, and
are loaded in that order. Each crawl has an equal part of a full memory (`dispatch.py`). A loaded
host is unloaded for a waiting host with a lower number. PolyBot bounds its memory by reading its
request files late, which keeps the order (section 3.5). Here a loaded host may also return to the
directory.

**Order.** Each new URL has a rank: its priority, and a penalty for poor prospects (`ordering.py`).
Among equals the order is that of the requests: two URLs of one host and rank are fetched in the
order of their requests. So are URLs of one rank of different hosts, unless politeness, a failing
host, or a partition without free slots delays one of them. Under the strategy `breadth`, which
predicts nothing, `tests/frontier/test_order.py` checks each order. Other strategies give every
tenth order to poorer prospects, and move a URL to another queue when its rank changes. Revisits
have a queue of their own at each host, or they would wait for all new URLs of the host.

**Neighbours.** A hundred host names may be one machine. So few hosts of a site are checked out at
once, and hosts of one name, with other schemes and ports, take turns (`workbench.py`). Only
fetchers know which hosts share an address; they return orders that would wait too long for an
address.

**Slots.** If the parser or the archive lag in a partition, fetchers hold its orders. Hosts of other
partitions must not wait for them, so half of `checked_out_limit` is divided among the partitions
(`dispatch.py`).

**Balance.** A slow fetcher, or one with large hosts, would collect all orders while other fetchers
are idle. So inactive sites move from partitions with too many orders to the partition with the
fewest (`dispatch.py`). The host's row has the partition of its order.

**Politeness.** A server is strained if it answers with errors, slowly or not at all. Each such
visit doubles its delay, and each good visit halves it again. A host whose pages are unreadable, one
after another, is postponed, because one such page may cost the parser as much as a thousand others
(`politeness.py`).

**Robots.txt at another host.** A robots.txt that redirects to another host is visited under that
host's delay and lease, which only that host's frontier knows. So it is requested there, on behalf
of the first host, and the answer comes back (`robots.py`).

**Probes.** Many hosts return a page for every URL. Each host is visited once at a path that cannot
exist. The response is the signature of its missing pages (`robots.py`).

**Revisits.** After each verdict, and after each visit without a document, the revisit policy plans
the next visit. The state of a page travels with its visit and returns with the verdict. A budget
pays for each revisit. It is divided among partitions by the demand of their pages, and between
revisits and new URLs (`pacing.py`, `plans.py`).

**Traps.** No rule knows a trap by its URLs. The frontier counts what visits bring, for each part of
a site (`worth.py`): host, directory, path with parameters. URLs of a part that brings nothing new
are parked, and a probe now and then shows whether it has recovered. The first visits to a part or
to the hosts of a site await each other's verdicts (`slow_start.py`). Budgets of a site grow with
what it brings (`budgets.py`). Parked URLs are in buckets of their site (`parts.py`).

**Excluded URLs.** URLs beyond the crawl's scope or depth, or on the blocklist, are parked: a wider
crawl or a shorter blocklist admits them without fetching a page again (`parked.py`). Of URLs that a
rule refuses permanently, the first hundred of a site have a row each, and the others are counted
(`sites.py`).

**Removed crawls.** The rows of a removed crawl are dropped site by site. Hosts stay, and so do the
other crawls (`removal.py`).

**Urgent URLs.** `gossamer fetch` requests visits before all others. Such a URL has a queue of its
own, whose rank precedes any priority, and its crawl is served first (`urgent.py`).

**Operators.** They set quiet hours, budgets and delays of sites, exclude sites, and set the speed
of the crawl (`politeness.py`, `pacing.py`). A URL on the blocklist is neither admitted nor ordered,
and is skipped in a queue. `gossamer retry` ends the backoff of a host and queues its failed URLs
again; the courtesy delay and a Retry-After stay.

Crashes
-------
In a standalone crawl, store and log change in one transaction. In a fleet a crash may come between
any two writes. The order of writes is: rows; rows that decide (`HostRow`, the totals); drops;
messages; the log's commit.

    after the crash the store has …         and the frontier …
    a checked-out host without an order     orders it again when its lease expires
    URLs that were moved to another rank,   reads them in their old queue
      without the host's row
    queued URLs whose record of             skips them: the host's row has the last applied record
      `urls.admitted` is not committed
    a URL's outcome without the host's      applies the outcome again: no lease ends before all
      cursor                                outcomes were read
    a directory entry that differs from     skips the entry, which is stale
      the host's row
    a site's count without its new host     admits the host again without counting it: the site's
                                            row has the last counted record
    a due plan that is not queued           finds it due again: `queued` is written last
    a queued URL whose plan is not          searches the end of the queue before it queues a plan,
      marked as queued                      for an hour after a claim
    an entry of a queued plan, in a         ignores the entry, and refunds the visit
      bucket that was not dropped
    a verdict whose record is not           plans the visit again; the entry of the first plan does
      committed                             not hold
    a removed crawl in the row of a site    erases the rows of the crawl at the site again
    an admission without dedup's commit     searches plans, outcomes and queue for the URL, which
                                            dedup marks as repeated
"""
