"""Frontier: what to fetch next, and when. It owns the hosts of the partitions it has claimed.

**How to read it.** `service.py` receives events and timers, and passes each to the partition of its
site. `partition.py` is that partition: a claim builds it, a loss drops it, and it alone changes its
hosts and totals. It is made of the workbench (`workbench.py`), queues (`queue.py`), the directory
(`directory.py`), a calendar (`calendar.py`), plans (`plans.py`), sites (`sites.py`) and totals
(`tally.py`). `loading.py` chooses between partitions: which hosts are in memory, and whose turn it
is. `admission.py`, `checkout.py` and `checkin.py` are the three steps of a URL's way through.
What waits lies in numbered buckets of a table, which are dropped whole (`bucketed_log.py`).

**How a host lives.** A host is born when the first of its URLs is admitted, and its row
(`rows.HostRow`) is kept for ever. It is in one of five conditions: idle, ready, delayed, checked
out, backing off. What leads from one to another is a table (`conditions.py`, drawn in
`docs/host-conditions.md`). Ready hosts are taken in the order of the request number of the first
URL in their queue; delayed ones become ready when their courtesy delay is over. These are the ready
queue and the waiting queue of PolyBot (section 3.4), here the workbench.

**Why one partition per site.** Politeness, budgets and order are about a host, and later about the
site that it belongs to. Everything about a site has one partition number on all topics, so one
frontier decides about it alone, without locks or questions to others. PolyBot, scaled up, would
map each host to one of its parts by a hash for the same reason (section 2.4).

**Why a robots.txt may be an errand.** One that redirects to another host is visited under that
host's delay and lease, which only its own frontier knows. So it is asked for there, and the answer
comes back (`robots.py`).

**Why a host is probed.** Many hosts have a page for every URL. One is asked once for a path that
nobody has (`probes.py`); its answer is in its row and in its orders, and what answers alike is no
page.

**Why the row is written before the order goes out.** A host must never have two fetchers. So the
check-out is in the store when the order reaches the log: an order without a row could be made
again, while a row without an order only costs time. A fetcher may die, or its order be lost; so a
check-out is a lease, and one that ends without the last outcome makes the host rest and come again.
Fetchers start no request after the lease, and the lease is long enough for the whole batch.

**Why epochs.** A frontier that was paused, and wakes up after its partitions went to another, must
not order anything. A frontier claims each partition under a new epoch (`partitions.py`), in the
store, before it reads anything of it. Orders carry the epoch, fetchers refuse those of an older
claim, and in the store of a fleet no write of an older epoch wins. A standalone run knows that all
processes of an older epoch are dead, and frees the hosts that they had; a fleet cannot know, so
there these leases must end first. Before either, and before any order, it reads what fetchers have
reported while nobody listened: a lease that has ended meanwhile may have an answer, and a server
may have asked for an hour's rest.

**Why the cursor moves on outcomes.** A host's queue is append-only buckets of rows, with a cursor
in the host's row; a bucket is dropped whole when the cursor has passed it (`queue.py`). If the
cursor moved with the order, a crash would lose the batch that was checked out. It moves with each
outcome, so a crash repeats at most that batch. PolyBot restarts from snapshots and leaves it to the
application to find the pages that were fetched twice (section 2.1).

**How a URL comes back.** A retry, a revisit, and a new URL that waits for the budget are plans. A
plan is a row of its URL: when, why, and all that the order needs (`rows.PlanRow`). The calendar is
an index of plans and of hosts that back off, in due-time buckets (`calendar.py`). When an entry is
due, the plan says whether it still holds; if so, the URL is queued, behind what was asked for
meanwhile.

**Why hosts wait in a directory.** Memory holds hosts that have work and do not back off, up to
`loaded_limit`: row and robots rules. All others with work wait in the store, listed by the request
number of their first URL (`directory.py`), and are loaded in that order (`loading.py`). A host that
is ready while one with a lower number waits there makes room for it. A number is a priority, and
the time at which the URL was asked for. PolyBot bounds memory by reading its request files late,
and shows that this leaves the order as it is (section 3.5); a directory also takes hosts back whose
queue is long. The guarantee is the same: two URLs of a host are fetched in the order they were
asked for, and so are URLs of different hosts unless politeness, a host that is down, or a partition
that has all its slots taken, held one back. `tests/frontier/test_order.py` checks every order
against it. It holds for first visits: pages to visit again have a queue of their own at each host
(`queue.py`), or they would wait behind all of its new URLs.

**Why a host waits.** Whether a host may be visited now is one ordered table of gates (`gates.py`):
check-out evaluates it when the host's turn comes, and `gossamer why` prints it. A hundred names may
be one machine, so two of the gates are about a host's neighbours: few hosts of a site are ordered
at once, and the schemes and ports of one name take turns (`workbench.py`). Which hosts share an
address is known to fetchers alone: they return what must wait for long.

**How it gives way.** A server whose answers take longer than they did, or that asks to be left
alone, is visited more slowly, and then little by little as before (`politeness.py`).

**Why a host may wait for the parser.** A page that cannot be read may cost a parser what a thousand
others do. A host whose pages end so one after another is left alone for a while (`politeness.py`);
then one page is visited, to see. Its URLs wait in their queue: none is fetched to be thrown away.

**Who is faster than the servers.** The operators: they set hours and the speed of the crawl, of a
site, and turn sites off (`overrides.py`, `pacing.py`), and what they block (`gossamer.blocklist`)
is neither admitted nor ordered, and skipped where it is queued.

**Why a partition has slots of its own.** Where parser or archive are behind in one partition,
fetchers hold its orders back. The hosts of the others must not wait for these: half of the hosts
that may be checked out at once are shared out among the partitions (`loading.py`), and a ready host
of one that has none left makes room in memory for a host of one that has.

**Why orders may go elsewhere.** A fetcher that is slower than others, or has larger hosts, would
end with all slots, while others are idle. So where orders are too many, those of a site that nobody
has an order of go to the partition that has the fewest (`balance.py`). The host's row says where.

**When a page is visited again.** After each verdict, and after each visit that ended without a
document, the crawl's revisit policy says when next (`revisit/`, pure; `revisits.py` is the shell
around it). What is known of a page travels with its visit and comes back with the verdict. A budget
pays for each visit; it is shared out among the partitions by what their pages ask for, and between
pages that are known and new URLs (`plans.py`). One policy, `selective-incremental`, is asked again
when a visit is due: it may plan another one instead.

**What a trap may leave.** A site without end would fill the store as well as the queue. So the
hosts of a site are limited as the URLs of a host are, and of the URLs that a rule refuses for good
only the first hundred of a site have a row each; the others are counted in the site's row
(`sites.py`). What is refused for its depth has a row always: a wider crawl takes it up again.

**What a narrower crawl leaves out.** Links that dedup found beyond the crawl's scope or depth, and
URLs that were admitted before it became narrower, are parked (`parked.py`). A wider definition
takes them up from there: no page is fetched again for its links. So it is with what the blocklist
forbids, until a rule is lifted.

**When a person knows better.** A host that is down is left alone for hours. `gossamer retry` asks
for it on `urls.admitted` (`admission.py`): its trouble is taken for over, and URLs that failed are
queued again. The courtesy delay and a Retry-After stay.

**What a crash leaves.** In a standalone crawl store and log move in one transaction. In a fleet a
crash can come between any two writes: rows first, then rows that decide (`HostRow`, the totals),
then drops, then messages, then the log's commit.

    after the crash the store has …         and so
    a host checked out, and no order        its lease ends, and it is ordered again
    URLs in a queue, and the log has        the host's row says up to which record it has applied
      not moved past them                   `urls.admitted`: they are not queued or counted again
    a URL's outcome, and its host's         the outcome comes again, and is applied again: no lease
      cursor before it                      ends before all outcomes were read
    an entry in the directory, and a row    the entry is stale, and is skipped when it is met
      that says another
    a site's counts, and not its host       the host is admitted again, and not counted again: the
                                            site's row says what it has counted
    a plan that is due, and not queued      it is found due again: that it is queued is written last
    a URL in the queue, and a plan that     for an hour after a claim the end of the queue is read
      does not say so                       before a plan is queued
    an entry whose plan was queued, in a    the plan says so: the entry does not hold, and what was
      bucket that is not yet dropped        paid for the visit is refunded
    a verdict, and the log has not moved    it is planned again, and the first plan's entry does not
      past it                               hold
    an admission, and not dedup's commit    dedup admits it again and says so; the frontier looks
                                            for it in plans, outcomes and queue
"""
