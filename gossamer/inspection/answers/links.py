"""The links of one page as data: which of them a crawl follows, and the rule for each other one."""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of, external_links
from gossamer.events import CrawlDefined, Link, PageParsed
from gossamer.events.pages import LinkKind, link_discovery
from gossamer.inspection.basics.views import view_of
from gossamer.services.dedup.links import targets
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, host_key
from gossamer.web.url_steps import merge_url

NO_BLOCKLIST = Blocklist()


class LinkFact(Struct, frozen=True, kw_only=True):
    """A link of a page, and what a crawl does with it."""

    url: str
    """The canonical URL of the target."""
    followed: bool
    rule: str
    """The name of the rule that excludes the link; "" for a link that is followed."""
    reason: str
    """Why the link is not followed, or what is special about its visit, as a sentence; "" for a
    usual link."""
    text: str
    kind: str
    position: str
    rel: str


def explain_links(
    page: PageParsed,
    crawl: CrawlDefined,
    robots: Mapping[HostKey, RobotsRules],
    url_limit: int,
) -> Iterator[LinkFact]:
    """Yield the links of *page* in its order, as *crawl* treats them.

    *robots*: the rules of the hosts whose robots.txt was read. *url_limit*: maximum number of
    characters of a URL (`dedup.url_limit`).
    """
    for link in page.links:
        rule, reason = _exclusion(link, page, crawl, robots, url_limit)
        followed = not rule
        if followed and link.kind == LinkKind.SCRIPT:
            reason = "a guess from a script, visited last"
        yield view_of(LinkFact, link, followed=followed, rule=rule, reason=reason)


def _exclusion(
    link: Link,
    page: PageParsed,
    crawl: CrawlDefined,
    robots: Mapping[HostKey, RobotsRules],
    url_limit: int,
) -> tuple[str, str]:
    """Return the rule that excludes *link* and its sentence; both are "" if it is followed."""
    if page.nofollow:
        return "nofollow", "the page asks that its links are not followed"
    if link.nofollow:
        return "nofollow", f"its element has rel={link.rel}" if link.rel else "nofollow"
    merged = merge_url(link.url, crawl.url_steps)
    if not merged.url:
        return merged.steps[-1], f"excluded by the URL step {merged.steps[-1]}"
    if len(merged.url) > url_limit:
        return "url_limit", f"longer than {url_limit} characters"
    policy = external_links(crawl, page.visit.party)
    found = targets(merged.url, page, policy, link.redirect)
    if not found:
        return "external_links", "a link to another site: external_links is none"
    url = found[0]
    discovery = link_discovery(replace(link, url=url), page.visit)
    if exclusion := exclusion_of(crawl, NO_BLOCKLIST, discovery):
        return str(exclusion.rule), exclusion.reason
    rules = robots.get(host_key(url))
    if rules and not rules.allows(url):
        return "robots_excluded", rules.explain(url)
    return "", ""
