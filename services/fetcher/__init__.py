"""The fetcher: the only part of Gossamer that opens sockets to the Web.

The life of an order. The frontier checks a host out and orders a batch of visits
(`HostCheckedOut`). The fetcher makes them one after another and reports each as a `VisitEnded`,
together with a `PageFetched` where something came back that is worth keeping. Exactly one
`VisitEnded` is the order's last, whatever happens; it releases the host.

Between the end of one request and the start of the next lies the order's pause. A visit that needs
no request (robots.txt forbids it) is followed by none. Three things end an order early: the crawl
was paused, the next request is blocklisted or would outlast the lease, or the outcome says that the
rest would fare no better (`ends_order` in `gossamer.events.outcomes`). The first URL that was not
visited is reported as `unvisited`; those behind it are not mentioned, for the frontier still has
them queued.

Why an order is begun once. Elsewhere a record is handled again when its reader dies, because doing
it twice changes nothing. Here it would: the host would be asked for the same pages at once again,
perhaps while a fetcher that was only slow still works through the order. So the log moves past an
order before its first request. If the fetcher dies then, nobody repeats the order; its lease
expires and the frontier orders again whatever has no outcome. For the same reason an order that
comes too late is handed back unbegun: its lease has expired, or a newer frontier has claimed the
partition (its epoch is void), and the host may be somebody else's by now.

Why requests keep within the lease. The frontier gives a host to somebody else when the lease
expires. A request starts only if even the longest visit would end before that, so a host is never
visited twice at the same time, though fetcher and frontier never talk about it. Their clocks may
differ: a lease is reckoned by the later of the two, as far as the order shows it, and a fetcher
whose clock is far off says so (`skew.py`).

Why connections are kept. A host has one connection at a time, which its next request uses, be it of
the same order or the next, if it comes before we or the server close it (`http/kept.py`). Where the
courtesy delay is longer than that, nothing is held open: sockets to hosts that nobody visits are a
burden to both.

Why aiohttp may not retry. It repeats a GET whose kept connection was closed under it, at once. Here
that is done with a pause, and once: most likely the server hung up before it read the request, but
it may have. Whether and when to try anything else again is the frontier's decision alone; so is it
with redirects, cookies and proxies, which a client library would otherwise handle on its own.

Why most redirects are not followed. The target of a page's redirect is a URL like any other: it
has its own host to be polite to, its own robots.txt, and may have been seen. So it goes back
through the URL-seen test as a link. Two kinds are followed. A cookie wall sets a cookie and leads
back to the URL of the visit, which the URL-seen test would drop: within the host its redirects are
followed, each a request with a pause of its own, and the answer to the request with the cookie
counts. The rules of a robots.txt are about the host that was asked, wherever the file lies, and
RFC 9309 (2.3.1.2) wants at least five redirects followed. Within the host each is a request with a
pause of its own. A redirect to another host ends the visit, because the fetcher has no lease on
that host. `RobotsRequested` goes to the frontier of that host, which orders the URL like any other.
The fetcher that makes the visit reads the rules, and `RobotsAnswered` goes back to the frontier of
the first host.

Why our own faults are told apart. A process without file descriptors, a machine without a network
or a name server fails at every host. None of them is to blame: the order is handed back as if it
had not been begun, the fetcher begins nothing for a while, and says why it is not ready
(`faults.py`). So it is where hardly any name resolves, or hardly any server is reached, wherever
they are (`outages.py`).

Why addresses are checked after resolution. Whatever a URL says, its name may lead to a private
address: the crawler's own network, a cloud's metadata service. A check by name proves nothing, and
neither does one lookup for the check and another for the connection, for the answers may differ.
So the resolver returns only addresses that may be visited, and aiohttp connects to exactly those.

Why secrets are in a file. What a host wants to know of us (`access.py`) must be in no order, for
orders are on the log; no archived record shows it. Through a proxy nobody here knows the address of
a host: only the operator names one, and answers for what it leads to (`http/proxied.py`).

Who does what. `visit.py` leads the conversation and decides everything, without a clock or a
socket: it yields steps and receives their results (`steps.py`), so that politeness is tested in
virtual time. `robots_visit.py` does the same for a robots.txt, `reading.py` says how much of a body
is read, by its type (`wanted.py`), `outcome.py` assesses what came back, and `ending.py` turns it
into events. `service.py` carries the steps out. `http/client.py` is aiohttp made strict,
`http/wire.py` tells in which phase a connection fails and has heads read by `head.py`,
`http/bodies.py` reads bodies within the room that there is, `http/kept.py` keeps connections,
`http/tls.py` resumes TLS sessions, `http/resolver.py` and `addresses.py` decide where a name may
lead. `http/limiters.py` lists the limiters that each request passes, and `turns.py` says whose turn
it is at a site and at an address, which all fetchers share; `http/gaps.py` measures whether all of
this was polite.
`skew.py`, `faults.py` and `outages.py` tell what is wrong on this side, and `hindrances.py` tells
it on; `wildcards.py`, which domains are to be probed.
`identity.py` says who we are. `wiring.py` puts it together.
"""
