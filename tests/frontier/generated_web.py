"""A generated web as a graph, without sockets, and its visits: for tests of the harvest curve.

Sites have a menu that all their pages link to. A fifth of all pages are hubs, which get more links
than others. The other links lead to near pages, or anywhere.
"""

from random import Random

from gossamer.events import PageDeduplicated, Verdict, Visit
from gossamer.services.frontier.tables.harvest import Harvest
from gossamer.web.url import HostKey, Site

Graph = list[list[int]]
PAGE = Visit(id="1.1.0@http://a.test/", url="http://a.test/")
SITE_SIZE, MENU, NEIGHBOURS = 50, 5, 10
HUBS = 0.2


def generate(
    seed: int, pages: int = 2000, links: int = 12, near: float = 0.5, hubs: float = 0.3
) -> Graph:
    """Return the links of each page; *near* and *hubs*: the share of links to near pages and hubs.

    The number of links of a page is exponentially distributed, with a mean of *links*.
    """
    random = Random(seed)
    well_linked = random.sample(range(pages), int(HUBS * pages))

    def target(page: int) -> int:
        kind = random.random()
        if kind < near:
            return (page + random.randint(-NEIGHBOURS, NEIGHBOURS)) % pages
        return random.choice(well_linked) if kind < near + hubs else random.randrange(pages)

    graph: Graph = []
    for page in range(pages):
        menu = [page // SITE_SIZE * SITE_SIZE + at for at in range(min(MENU, pages))]
        count = 1 + int(random.expovariate(1 / max(1, links - 1)))
        targets = [one for one in (*menu, *(target(page) for _ in range(count))) if one < pages]
        graph.append([one for one in dict.fromkeys(targets) if one != page])
    return graph


def find_reachable(graph: Graph) -> set[int]:
    """Return the pages that a whole crawl from page 0 finds."""
    seen, waiting = {0}, [0]
    while waiting:
        new = [one for one in graph[waiting.pop()] if one not in seen]
        seen.update(new)
        waiting += new
    return seen


def count(harvest: Harvest, at: float, found: int) -> None:
    """Count a visit and the new URLs that it *found*, as a frontier does."""
    harvest.count_first_visit(at)
    harvest.count_found(found, at)
    harvest.count_verdict(verdict(at))
    harvest.count_visit(at)


def verdict(at: float, score: float = 1.0, **fields: object) -> PageDeduplicated:
    """Return the verdict on a page with a new text."""
    given = {"visit": PAGE, "verdict": Verdict.FIRST, **fields}
    return PageDeduplicated(
        at=at, site=Site("a.test"),
        host=HostKey("http://a.test"), digest="d", score=score,
        **given,  # type: ignore[arg-type]
    )  # fmt: skip
