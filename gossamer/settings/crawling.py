"""The definition of a crawl. Most of it can be changed while the crawl runs."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gossamer.errors import BadSettings
from gossamer.policies import parse_policy
from gossamer.relevance import parse_relevance
from gossamer.settings.units import Natural, Section, unit
from gossamer.web.scope import parse_scope
from gossamer.web.url_steps import ALL_STEPS, check_steps


class CrawlSettings(Section):
    """The definition of a new crawl. `gossamer seed` with `--scope` changes it later."""

    scope: Annotated[str, unit("scope expression")] = ""
    """URLs that may be visited, as an expression such as `domain("example.org")` or `any()`. Empty
    means the sites of the seeds."""
    max_depth: Annotated[Natural, unit("links")] = 16
    """Maximum number of links from a seed (hazard trap_depth)."""
    revisit: Annotated[str, unit("revisit policy")] = ""
    """The revisit policy: `none`, `fixed:1d`, `selective-incremental`, `adaptive` or `optimal`.
    Empty means `none` in a folder and `optimal` in a fleet."""
    budget: Annotated[float, Field(ge=0), unit("visits a day")] = 0.0
    """Maximum number of revisits a day. New URLs do not count unless `discovery_share` is set. 0
    means that only politeness limits revisits."""
    discovery_share: Annotated[float | None, Field(ge=0, le=1), unit("share")] = None
    """Share of the budget for URLs that were never visited, while any are waiting. If it is not
    set, the budget does not limit new URLs, and they are visited as soon as politeness allows."""

    url_steps: Annotated[tuple[str, ...], unit("list of steps")] = ALL_STEPS
    """The [steps](urls.md) that rewrite URLs to their canonical form. They are fixed when the crawl
    is defined."""
    external_links: Literal["deep", "home", "combined", "none"] = "deep"
    """Links to other sites that are followed: `deep` (the linked URL), `home` (the home page of its
    host instead), `combined` (both) or `none`. Redirects of seeds are always followed."""
    relevant: Annotated[str, unit("relevance expression")] = ""
    """Relevant pages, as an expression such as `language("pt") and type("text/html")`. Other pages
    are not published. If their type or URL already excludes them, they are not archived either.
    Empty means all pages."""
    follow_irrelevant: bool = True
    """Whether the links of irrelevant pages are followed."""

    def model_post_init(self, context: Any) -> None:
        """Raise an error for an expression, a step or a policy that is invalid."""
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
