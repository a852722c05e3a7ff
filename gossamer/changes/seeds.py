"""New seeds, and new definitions of crawls."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.changes.plan import Action, Effect, Plan
from gossamer.crawl import check_not_removed, check_number, check_scope, last_definition
from gossamer.errors import BadSettings
from gossamer.events import PRIORITY_LIMIT, CrawlDefined, SeedAdded
from gossamer.inspection.basics.figures import first_few, plural
from gossamer.inspection.crawls.crawl import OpenCrawl


def plan_seeds(
    crawl: OpenCrawl,
    seeds: Sequence[str],
    now: float,
    *,
    priority: int = 0,
    party: str = "",
    definition: CrawlDefined | None = None,
) -> Plan:
    """Return the plan that adds the canonical URLs *seeds*, after the new *definition*.

    None means that the definition does not change. Raise BadSettings if there is none, if a seed is
    out of its scope, or if *priority* is beyond PRIORITY_LIMIT.
    """
    if abs(priority) > PRIORITY_LIMIT:
        limit = PRIORITY_LIMIT
        raise BadSettings(f"priority {priority}: must be from -{limit} to {limit}")
    name = definition.crawl if definition else crawl.id
    before = last_definition(crawl.log, name)
    check_not_removed(before)
    check_number(name, crawl.crawls())
    active = definition or before
    if active is None:
        raise BadSettings(f"the crawl {name} is not defined: gossamer seed defines it")
    check_scope(seeds, active.scope)
    events = (
        SeedAdded(crawl=name, at=now, url=url, priority=priority, party=party) for url in seeds
    )
    return Plan(
        action="seed",
        subject=first_few(seeds) or name,
        crawl=name,
        # Before the seeds: their scope is evaluated by it.
        settings=definition_setting(before, definition, now) if definition else (),
        requests=tuple(events),
        effect=Effect(
            text=f"{plural(len(seeds), 'seed')} added to {crawl.name}.", count=len(seeds)
        ),
    )


def plan_definition(
    crawl: OpenCrawl, action: Action, definition: CrawlDefined, text: str, now: float
) -> Plan:
    """Return the plan that makes *definition* the active one of its crawl.

    *action* is the kind of the change: `apply`, `pause`, `resume` or `remove`. *text* is its effect
    as a sentence.
    """
    before = last_definition(crawl.log, definition.crawl)
    return Plan(
        action=action,
        subject=definition.crawl,
        crawl=definition.crawl,
        settings=definition_setting(before, definition, now),
        effect=Effect(text=text, count=1),
    )


def definition_setting(
    before: CrawlDefined | None, after: CrawlDefined, now: float
) -> tuple[tuple[CrawlDefined | None, CrawlDefined], ...]:
    """Return the change from *before* to *after* at *now*; nothing if they are equal."""
    after = replace(after, at=now)
    return () if before and replace(before, at=now) == after else ((before, after),)
