"""The fetcher: the only part of Gossamer that opens sockets to the Web.

The life of an order. The frontier checks a host out and orders a batch of visits
(`HostCheckedOut`). The fetcher moves the log past the order before it begins: what dies under way
is not begun again by anybody, the frontier's lease notices. An order that was void or late when it
arrived is dropped, because the host may be somebody else's by then.

The visits are made one after another over one kept-alive connection. Between the end of one
request and the start of the next lies the order's pause; a visit that asked for nothing (robots
forbids it) is followed by none. Before every request three things can end the order early: the
crawl was paused, the lease would run out under the request, or the host proved to be in trouble
(no address, no connection, no byte, or it asked to be left alone). What was not visited is either
said so once (`unvisited`, as the last word) or not mentioned at all: the frontier still has it.

Each visit ends in exactly one `VisitEnded`, together with a `PageFetched` where something came that
is worth keeping. Exactly one of them is the order's last, whatever happens, and releases the host.

Who does what: `visit.py` leads the conversation and decides, without a clock or a socket: it yields
steps and is told how they went. `robots_visit.py` is the same for a robots.txt, the only thing
whose redirects are followed. `outcome.py` judges what came back. `service.py` carries the steps
out, `web.py` is aiohttp made strict, `resolver.py` and `addresses.py` decide where a name may lead.
`turns.py` lets a request that leads to another host wait for its turn there. `identity.py` says who
we are. `wiring.py` puts it together.

Nobody may be visited at a private address, whatever name leads there: addresses are checked after
resolution, and what was checked is what is connected to.
"""
