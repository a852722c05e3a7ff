"""What a crawl is when it is defined; most of it can be changed while it runs."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gossamer.errors import BadSettings
from gossamer.policies import parse_policy
from gossamer.relevance import parse_relevance
from gossamer.settings.units import Natural, Section, unit
from gossamer.web.scope import parse_scope
from gossamer.web.url_steps import ALL_STEPS, check_steps


class CrawlSettings(Section):
    """What the crawl is when it is defined; `gossamer seed` with `--scope` changes it later."""

    scope: Annotated[str, unit("scope expression")] = ""
    """Which URLs may be visited, such as `domain("example.org")` or `any()`; empty: the sites of
    the seeds."""
    max_depth: Annotated[Natural, unit("links")] = 16
    """How far from a seed URLs are followed (hazard trap_depth)."""
    revisit: Annotated[str, unit("revisit policy")] = ""
    """When pages are visited again: `none`, `fixed:1d`, `selective-incremental`, `adaptive` or
    `optimal`; empty: `none` in a folder, `optimal` in a fleet."""
    budget: Annotated[float, Field(ge=0), unit("visits a day")] = 0.0
    """Most revisits a day; 0: as many as politeness allows. New URLs do not count, unless
    `discovery_share` is set."""
    discovery_share: Annotated[float | None, Field(ge=0, le=1), unit("share")] = None
    """Share of the budget for URLs that were never visited, while some wait: the budget limits them
    then, too. Not set: new URLs are visited as soon as politeness allows."""

    url_steps: Annotated[tuple[str, ...], unit("list of steps")] = ALL_STEPS
    """By which [steps](urls.md) several URLs are taken for one page; it is settled when the crawl
    is defined, and stays so."""
    external_links: Literal["deep", "home", "combined", "none"] = "deep"
    """What is followed of links to other sites: `deep` what they name, `home` the home page of its
    host instead, `combined` both, `none` nothing. Redirects of seeds are always followed."""
    relevant: Annotated[str, unit("relevance expression")] = ""
    """Which pages are kept, such as `language("pt") and type("text/html")`: the others are neither
    published nor, as far as type and URL say so, archived; empty: all are kept."""
    follow_irrelevant: bool = True
    """Whether the links of pages that are not kept are followed all the same."""

    def model_post_init(self, context: Any) -> None:
        """Refuse an expression or a policy that does not parse."""
        check_steps(self.url_steps)
        if self.relevant:
            parse_relevance(self.relevant)
        if self.scope:
            parse_scope(self.scope)
        if self.revisit:
            try:
                parse_policy(self.revisit)
            except ValueError as error:
                raise BadSettings(f"crawl.revisit: {error}") from error
