"""A synthetic web to crawl: a small Internet on loopback whose every answer is known beforehand.

Structure: a `World` is a set of numbers. All host names, pages, links and oddities follow from it;
they are computed on demand and never stored. `oddities` lists the oddities, `atlas` says which host
has which and what its pages contain, `render` turns a page into bytes. `truth` walks the same world
without a crawler and returns the URLs that a correct crawler requests, and those that it must never
request. `measure` evaluates the recorded requests.

`server`, `dns` and `listening` serve any web on sockets and record every request: this one, and
those of `tests.traps`, `tests.consent`, `tests.honest` and `tests.reports`. A web is a dataclass of
numbers with a method that returns its names, seeds and answers at a port (`client.Web`).

A test starts the server as a process of its own, so that killing a crawler never damages the
record:

    with SynthWeb(World(seed=7, hosts=300, pages=6)) as web:
        crawl(web.seeds, nameserver=web.nameserver)
        assert measure.requested_urls(web.requests()) >= web.truth.required

Nothing here imports the crawler, so that an error of the crawler cannot become the expected result.
"""

from .client import RunningWeb, SynthWeb
from .truth import Scope, Truth
from .world import World

__all__ = ["RunningWeb", "Scope", "SynthWeb", "Truth", "World"]
