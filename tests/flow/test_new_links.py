"""Home pages that add new links to changed articles, or to any article: the weight of such links as
hints."""

from bisect import bisect_right
from pathlib import Path
from random import Random

import pytest

from gossamer.events import DEFAULT_CRAWL, EvidenceKind
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier import revisit
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.tables.sites import SiteRow
from tests.flow.virtual import START, VirtualCrawl, html_page

HTML = (("Content-Type", "text/html"),)
DAY = 86400.0
DAYS = 20
TRUE, FALSE = "http://true.test", "http://false.test"
WORDS = ("river", "stone", "house", "light", "paper", "winter", "garden", "engine", "letter")


class LinkingSites:
    """Two sites whose articles change twice. Each home page has new link texts, for changed
    articles or at random."""

    def __init__(self) -> None:
        random = Random(5)
        articles = [f"{host}/{n}" for host in (TRUE, FALSE) for n in range(6)]
        self.changes = {
            url: sorted(START + random.random() * DAYS * DAY for _ in range(2)) for url in articles
        }

    def version(self, url: str, at: float) -> int:
        return bisect_right(self.changes[url], at)

    def link_version(self, url: str, at: float) -> int:
        """Return how often the link text for *url* has changed."""
        if url.startswith(TRUE):
            return self.version(url, at)
        return int(at // (2 * DAY)) if int(url[-1]) == int(at // (2 * DAY)) % 6 else 0

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        host = url[: url.index("/", 7)]
        words = Random(f"{url} {self.version(url, now) if url in self.changes else now // DAY}")
        body = f"<title>{url}</title><p>{' '.join(words.choices(WORDS, k=40))}</p>"
        if url == f"{host}/":
            links = (f"{host}/{n}" for n in range(6))
            body += "".join(
                f"<p><a href='{u}'>{self.link_version(u, now)} news</a></p>" for u in links
            )
        elif url not in self.changes:
            return 0.1, Reply(status=404)
        return 0.1, html_page(body)


@pytest.mark.long
def test_new_links_are_hints_only_on_a_site_where_they_lead_to_changed_pages(
    tmp_path: Path,
) -> None:
    crawl = VirtualCrawl(tmp_path, LinkingSites(), delay=1.0)
    crawl.define(f"{TRUE}/", f"{FALSE}/", revisit="optimal", budget=8)
    crawl.run(until=START + DAYS * DAY)
    store = crawl._store()

    def link_likelihood(site: str) -> float:
        row = store.table(SiteRow).get(site)
        assert row
        state = revisit.unpack_site(row.of(DEFAULT_CRAWL).statistics)
        return revisit.likelihood_ratio(state, EvidenceKind.LINK)

    ratios = link_likelihood("true.test"), link_likelihood("false.test")
    assert ratios[0] > 2 and ratios[1] < 1.5
    spent = [row.spent.get("hint", 0) for row in store.table(PartitionPlansRow).everything()]
    assert sum(spent) > 0
