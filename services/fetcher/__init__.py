"""The fetcher: the only part of Gossamer that opens sockets to the Web.

Reading order:

1. `visit.py`: the conversation of an order, and the visit of a robots.txt. It decides every step,
   without a clock or a socket. `steps.py` defines the steps and keeps the pause between requests.
2. `outcome.py`: turns a response or a failure into an outcome, and the outcome into events.
3. `service.py`: carries out the steps and finishes every order that it began.
4. `http/limiters.py`: the list of limiters that each request passes. `rate_limits.py` holds the
   limits of sites and addresses that all fetchers share.
5. `http/client.py`: makes one request with aiohttp, and measures politeness. `http/resolver.py` and
   `addresses.py` decide which addresses a name may lead to, `http/connections.py` connects and
   reads the head with `head.py`, `http/tls.py` verifies certificates, `http/issuers.py` fetches
   those that a server does not send, `http/bodies.py` reads the body within the memory budget,
   `http/chunks.py` repairs the lines of its chunks, `http/proxies.py` handles proxies,
   `http/signing.py` signs.
6. `limitations.py`: local faults, outages and clock skew, which no host is to blame for.
7. `access.py`: our name and contact, and headers, credentials and proxies of single hosts.
   `wiring.py` builds the fetcher.

How an order is carried out. The frontier checks a host out and orders a batch of visits
(`HostCheckedOut`). The fetcher makes the visits one after another. It reports each as a
`VisitEnded`, together with a `PageFetched` if a response is worth storing. Exactly one `VisitEnded`
is the last of the order, whatever happens; it releases the host.

The order's pause lies between the end of a request and the start of the next. A visit that needs no
request, because robots.txt forbids it, is not followed by a pause. An order ends early if the crawl
is paused, if the next request is blocklisted or would outlast the lease, or if the outcome ends the
order (`ends_order` in `gossamer.events.outcomes`). The first URL that was not visited is reported
as `unvisited`. Later URLs are not reported: the frontier still has them in its queue.

Why an order is begun only once. Other services handle a record again after a crash, because that
changes nothing. A repeated order would request the same pages at once again, perhaps while a slow
fetcher still works on it. So the offset is committed before the first request. If the fetcher then
crashes, the lease expires, and the frontier orders every URL without an outcome again. An order
that comes too late is returned and not begun: its lease has expired, or a newer frontier has
claimed the partition, and another fetcher may have the host by now.

Why requests keep within the lease. The frontier gives the host to another fetcher when the lease
expires. A request starts only if even the longest visit would end before that. So two fetchers
never visit a host at the same time, although they do not communicate. The clocks of a fetcher and a
frontier may differ. The fetcher uses the later of the two for the lease, as far as orders show the
difference, and it reports a large clock skew (`limitations.py`).

Why connections are kept alive. A host has at most one connection. The next request to the host uses
it, even for another order, if the request comes before the fetcher or the server closes the
connection (`IdleConnections`). A connection is closed at once if it would not last until the
courtesy delay is over.

Why aiohttp may not retry. aiohttp immediately repeats a GET whose idle connection was closed by the
server. The fetcher repeats the request once, after a pause: most likely the server did not read it,
but it may have. The frontier alone decides about any other retry. Redirects, cookies and proxies
are not left to the client library either.

Why most redirects are not followed. The target of a redirect is a URL like any other: it belongs to
a host with its own delay and robots.txt, and may have been seen before. So it passes the URL-seen
test like a link. There are two exceptions:

- A cookie wall sets a cookie and redirects back to the URL of the visit, which the URL-seen test
  would drop. Redirects within the host are followed, each as a request after a pause, and the
  response to the request with the cookie counts.
- RFC 9309 (2.3.1.2) asks for at least five redirects of a robots.txt to be followed. Within the
  host, each is a request after a pause. A redirect to another host ends the visit, because the
  fetcher has no lease on that host: `RobotsRequested` asks the frontier of the other host to order
  the file, and `RobotsAnswered` returns its rules to the frontier of the first host.

Why local faults are separate. A process without file descriptors, or a machine without network or
name server, fails at every host. The order is returned as if it had not been begun, and the fetcher
backs off from all orders and reports that it is not ready. The same happens if hardly any name
resolves, or hardly any server can be reached (`limitations.py`).

Why addresses are checked after resolution. A name may lead to a private address: the crawler's own
network, or a cloud's metadata service. A check of the name proves nothing. One lookup for the check
and another for the connection is not enough, because the two answers may differ. So the resolver
returns only permitted addresses, and aiohttp connects to exactly these.

Why secrets are in a file. Credentials for a host (`access.py`) must not be in an order, because
orders are on the log, nor in an archived record. A proxy resolves names itself, so addresses cannot
be checked: only the operator names a proxy, and is responsible for the networks that it reaches.
A request to an HTTP proxy has the absolute form of its URL (RFC 9112, 3.2.2). Its record has the
origin form, which the server receives, and which readers of WARC files expect.
"""
