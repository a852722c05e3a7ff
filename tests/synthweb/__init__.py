"""A synthetic web to crawl: a small Internet on loopback whose every answer is known beforehand.

How it fits together. A `World` is a handful of numbers; out of them every host name, page, link
and misbehaviour follows, computed when asked for and never stored. `oddities` says what may be
strange, `atlas` which host plays which part and what its pages hold, `render` turns a page into
bytes. `server` and `dns` speak for the world on sockets and write down every request. `truth`
walks the same world without any crawler and says what a correct one asks for, and what it must
never ask for. `measure` judges the requests written down.

A test starts it as a process of its own, so that killing a crawler never harms the record:

    with SynthWeb(World(seed=7, hosts=300, pages=6)) as web:
        crawl(web.seeds, nameserver=web.nameserver)
        assert measure.asked(web.requests()) >= web.truth.required

Nothing here imports the crawler: what both believed would never be tested.
"""

from .client import SynthWeb
from .truth import Scope, Truth
from .world import World

__all__ = ["Scope", "SynthWeb", "Truth", "World"]
