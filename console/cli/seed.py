"""`gossamer seed URL...`: puts seeds onto the log, and says what the crawl is if that is new."""

import argparse
from typing import Any

from msgspec.structs import replace

from console.cli.options import (
    CHOICES_OF_PAGES,
    IN_A_FLEET,
    REVISITS,
    add_crawl,
    lines_of,
    open_from,
    settings_of,
    whole,
)
from console.cli.status import spelled
from console.figures import number, percent, plural
from gossamer import clock
from gossamer.bounds import NO_PARTY
from gossamer.crawl import (
    CHOICES,
    CrawlRequest,
    apply_request,
    define,
    define_party,
    last_definition,
    read_seeds,
)
from gossamer.errors import BadSettings
from gossamer.events import PRIORITY_LIMIT, CrawlDefined, SeedAdded
from gossamer.log.codec import encode
from gossamer.policies import NEVER
from gossamer.relevance import check_classifiers
from gossamer.settings import CrawlSettings, Nested
from gossamer.terminal import printable
from gossamer.web.scope import parse_scope

REVISITING = ("revisit", "budget", "discovery_share")
CHOSEN = ("external_links", "relevant", "follow_irrelevant")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument("seeds", nargs="*", metavar="URL", help="a URL to start from")
    command.add_argument("--file", metavar="FILE", help="a URL a line; - for standard input")
    command.add_argument(
        "--priority", type=int, default=0, metavar="N", help="lower is sooner: -100 to 100"
    )
    command.add_argument(
        "--party",
        default="",
        metavar="NAME",
        help="whose seeds these are; scope, depth and external links are then those of the party",
    )
    command.add_argument(
        "--scope",
        default="",
        help="from now on: host, site (of these seeds), any, or an expression",
    )
    command.add_argument(
        "--depth", type=whole, metavar="N", help="from now on: follow at most N links from a seed"
    )
    for name, what in (*CHOICES_OF_PAGES, *REVISITS):
        command.add_argument(name, **{**what, "help": f"from now on: {what['help']}"})
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Append the seeds, and the definition of the crawl if that is new."""
    if abs(options.priority) > PRIORITY_LIMIT:
        most = PRIORITY_LIMIT
        raise BadSettings(f"--priority {options.priority}: a priority is from -{most} to {most}")
    seeds = read_seeds(lines_of(options.seeds, options.file, "--file"))
    of_party = _for_party(options)
    named = (*REVISITING, *CHOSEN)
    given = {name: value for name in named if (value := getattr(options, name)) is not None}
    if not seeds and (options.scope or not (given or of_party)):
        raise BadSettings("name at least one seed: a URL, or --file FILE")
    settings = settings_of(options, {"crawl": given})
    if settings.crawl.relevant:
        check_classifiers(settings.crawl.relevant)
    now = clock.now()
    events = [_added(seed, options, now) for seed in seeds]
    with open_from(options, create=True) as opened:
        before = last_definition(opened.log)
        crawl = requested(seeds, before, options.scope, options.depth, settings.crawl)
        crawl = _with_choices(crawl, before, given, settings.crawl)
        if before is None and opened.fleet and not settings.crawl.revisit:
            crawl = replace(crawl, revisit=IN_A_FLEET)
        if of_party or options.party in crawl.parties:
            crawl = define_party(crawl, options.party, seeds, of_party)
        if crawl != before:
            crawl = replace(crawl, at=now)
            # Before the seeds: they are judged by it.
            opened.log.append([encode(crawl)])
        opened.log.append([encode(event) for event in events])
    print(f"{plural(len(seeds), 'seed')} for {opened.name}.")
    _say(crawl, before, options.party)
    return 0


def _say(crawl: CrawlDefined, before: CrawlDefined | None, party: str) -> None:
    """Say what the crawl is now, and which of its parties the seeds are of."""
    if party:
        limits = printable(spelled(crawl.parties.get(party, NO_PARTY)), 5000)
        print(f"Party {printable(party)}: {limits}.")
    since = "as before" if _same(crawl, before, ("scope", "max_depth")) else "from now on"
    print(f"Scope {since}: {printable(crawl.scope, 5000)}, {crawl.max_depth} links deep.")
    since = "as before" if _same(crawl, before, REVISITING) else "from now on"
    print(f"Revisits {since}: {printable(crawl.revisit)}{_spending(crawl)}.")


def _added(seed: str, options: argparse.Namespace, now: float) -> SeedAdded:
    return SeedAdded(at=now, url=seed, priority=options.priority, party=options.party)


def _for_party(options: argparse.Namespace) -> dict[str, Any]:
    """Take from *options* what is meant for a party, if one is named, and not for the crawl."""
    if not options.party:
        return {}
    asked = {
        "scope": options.scope or None,
        "max_depth": options.depth,
        "external_links": options.external_links,
    }
    options.scope, options.depth, options.external_links = "", None, None
    return {name: value for name, value in asked.items() if value is not None}


def _same(crawl: CrawlDefined, before: CrawlDefined | None, fields: tuple[str, ...]) -> bool:
    return before is not None and all(getattr(crawl, f) == getattr(before, f) for f in fields)


def _spending(crawl: CrawlDefined) -> str:
    if crawl.revisit == NEVER:
        return ", each page is visited once"
    budget = f", at most {number(crawl.budget)} visits a day" if crawl.budget else ", no budget"
    share = crawl.discovery_share
    return budget + ("" if share is None else f", {percent(share)} of them to new URLs")


def _with_choices(
    crawl: CrawlDefined, before: CrawlDefined | None, given: Nested, settings: CrawlSettings
) -> CrawlDefined:
    """Return *crawl* with what is given for it; a new one has all that is in the settings."""
    asked = given if before else settings.model_fields_set
    request = CrawlRequest(
        (),
        "",
        0,
        0,
        revisit=settings.revisit if "revisit" in asked else "",
        budget=settings.budget if "budget" in asked else None,
        discovery_share=settings.discovery_share if "discovery_share" in asked else None,
        choices={name: getattr(settings, name) for name in CHOICES if name in asked},
    )
    return apply_request(crawl, before, request)


def requested(
    seeds: tuple[str, ...],
    before: CrawlDefined | None,
    scope: str,
    depth: int | None,
    settings: CrawlSettings,
) -> CrawlDefined:
    """Return the crawl as *before*, changed by the scope and depth that are given.

    Raise BadSettings if a seed is out of its scope.
    """
    deep = settings.max_depth if before is None else before.max_depth
    deep = deep if depth is None else depth
    if before is None or scope:
        fresh = define(CrawlRequest(seeds, scope or settings.scope, deep, 0), None, 0, 0.0)
        before = replace(before or fresh, scope=fresh.scope)
    _judge(seeds, before.scope)
    return replace(before, max_depth=deep)


def _judge(seeds: tuple[str, ...], scope: str) -> None:
    for seed in seeds:
        evaluation = parse_scope(scope).evaluate(seed, 0)
        if not evaluation.inside:
            raise BadSettings(
                f"seed {seed} is out of scope: {evaluation.rule}; --scope replaces what may be "
                "visited"
            )
