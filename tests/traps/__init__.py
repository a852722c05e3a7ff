"""A web of traps for crawlers: sites with honest pages next to endless or duplicate parts.

Structure: a `TrapWeb` is a set of numbers; all sites, pages and links follow from it. `site` is a
small honest site. Each trap is a subclass that adds links on honest pages and answers further URLs:
`hosts`, `lists`, `paths`, `missing` and `mazes`. `lookalikes` are honest sites that look like
traps. `web` has the tables of both and knows the truth: which honest page a URL shows, and which
other URLs are worth a request. `measure` evaluates the recorded requests of a crawler.

The web is served by `tests.synthweb`, in a process of its own:

    with RunningTraps(TrapWeb(traps=("calendar",))) as web:
        crawl(web.seeds, nameserver=web.nameserver)
        assert web.harvest().recall >= 0.99

Answers are a function of the URL, except for session ids and counters of visitors, which differ at
each visit. Nothing here imports the crawler, so that an error of the crawler cannot become the
expected result.
"""

from .measure import Harvest, RunningTraps, harvest_of
from .web import KINDS, LOOKALIKES, TRAPS, Sites, TrapWeb

__all__ = [
    "KINDS",
    "LOOKALIKES",
    "TRAPS",
    "Harvest",
    "RunningTraps",
    "Sites",
    "TrapWeb",
    "harvest_of",
]
