"""Changes of crawls: apply a crawl file, pause, resume and remove."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gossamer.changes.plan import Action, Effect, Plan
from gossamer.changes.seeds import plan_definition
from gossamer.crawl import check_not_removed, check_number, definitions_and_seeds
from gossamer.crawl_file import CrawlFile, Difference, compare, format_value, new_seeds
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, SeedAdded, SeedsApplied
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl

MAX_LISTED_SEEDS = 20
"""Seeds that an effect lists."""


def plan_apply(place: OpenCrawl, file: CrawlFile, now: float) -> Plan:
    """Return the plan that makes *file* the active definition of its crawl, and adds its new seeds.

    A paused crawl stays paused. Raise BadSettings if the crawl was removed, if a setting would
    change that cannot, or if there are MAX_CRAWLS others.
    """
    name = file.definition.crawl
    crawls, applied = definitions_and_seeds(place.log, name)
    check_number(name, crawls)
    before = crawls.get(name)
    events = file.events(before, applied, now)
    seeds = sum(isinstance(event, SeedAdded) for event in events)
    added = f", with {plural(seeds, 'new seed')}" if seeds else ""
    if before is None:
        text = f"Crawl {name} is defined in {place.name}{added}."
    elif events:
        text = f"Crawl {name} is changed{added}."
    else:
        text = f"Crawl {name} is as the file states: nothing to change."
    return Plan(
        action="apply",
        subject=name,
        crawl=name,
        settings=tuple((before, event) for event in events if isinstance(event, CrawlDefined)),
        requests=tuple(event for event in events if not isinstance(event, CrawlDefined)),
        effect=Effect(
            text=text,
            lines=(
                *map(_difference_line, compare(before, file.definition)),
                *_seed_lines(applied, file.seeds),
            ),
            count=len(events),
        ),
    )


def _difference_line(difference: Difference) -> str:
    key, before, after = difference
    return (
        f"{key}: {format_value(after)}"
        if before is None
        else f"{key}: {format_value(before)} → {format_value(after)}"
    )


def _seed_lines(before: SeedsApplied | None, after: SeedsApplied) -> Iterator[str]:
    """Yield a line for each new seed, and for each seed of *before* that is gone."""
    yield from _list_seeds("new seed", new_seeds(before, after))
    if before:
        gone = "seed no longer in the file (its pages stay)"
        yield from _list_seeds(gone, new_seeds(after, before))
        if before.priority != after.priority:
            yield f"priority of new seeds: {before.priority} → {after.priority}"


def _list_seeds(what: str, seeds: Sequence[tuple[str, str]]) -> Iterator[str]:
    for party, url in seeds[:MAX_LISTED_SEEDS]:
        yield f"{what}: {url}" + (f", party {party}" if party else "")
    if (more := len(seeds) - MAX_LISTED_SEEDS) > 0:
        yield f"{what}: {more:,} more"


def plan_state(place: OpenCrawl, action: str, now: float) -> Plan:
    """Return the plan of *action* on the crawl of *place*: `pause`, `resume` or `remove`.

    Raise BadSettings if the crawl is not defined or was removed.
    """
    crawl = place.definition()
    if crawl is None:
        raise BadSettings(f"the crawl {place.id} is not defined: gossamer crawls apply defines it")
    if action == "remove":
        return _plan_remove(place, crawl, now)
    return _plan_pause(place, crawl, action == "pause", now)


def _plan_pause(place: OpenCrawl, crawl: CrawlDefined, is_paused: bool, now: float) -> Plan:
    check_not_removed(crawl)
    name = crawl.crawl
    if crawl.paused == is_paused:
        text = f"Crawl {name} is {'paused' if is_paused else 'active'} already."
    elif is_paused:
        text = f"Crawl {name} is paused: requests in flight finish, and no more are made."
    else:
        text = f"Crawl {name} continues."
    action: Action = "pause" if is_paused else "resume"
    return plan_definition(place, action, replace(crawl, paused=is_paused), text, now)


def _plan_remove(place: OpenCrawl, crawl: CrawlDefined, now: float) -> Plan:
    text = (
        f"Crawl {crawl.crawl} is removed: nothing is fetched for it any more, and its queues and "
        "rows are dropped. Its WARC files stay. The other crawls go on."
    )
    if crawl.removed:
        text = f"Crawl {crawl.crawl} was removed already."
    # A process of an older version knows no removals, but visits no URL of a paused crawl.
    removed = replace(crawl, paused=True, removed=True)
    return plan_definition(place, "remove", removed, text, now)
