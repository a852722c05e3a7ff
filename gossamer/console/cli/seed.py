"""`gossamer seed URL...`: adds seeds, and defines or changes the crawl."""

import argparse
from typing import Any

from msgspec.structs import replace

from gossamer import clock
from gossamer.bounds import NO_PARTY
from gossamer.changes.seeds import plan_seeds
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.crawl_options import (
    DEFINITION_OPTIONS,
    SEEDS_HELP,
    check_rules,
    given_settings,
    request_of,
)
from gossamer.console.cli.options import (
    add_crawl,
    add_strict_seeds,
    open_from,
    seeds_of,
    settings_of,
)
from gossamer.console.cli.status import party_text
from gossamer.console.output import say
from gossamer.crawl import (
    check_id,
    check_not_removed,
    check_scope,
    define,
    define_party,
    last_definition,
)
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined
from gossamer.inspection.basics.figures import number, percent, plural
from gossamer.policies import DEFAULT_FLEET_POLICY, NEVER
from gossamer.rules import check_place

REVISIT_FIELDS = ("revisit", "budget", "discovery_share")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("seeds", nargs="*", metavar="URL", help="a URL to start from")
    command.add_argument("--file", metavar="FILE", help=SEEDS_HELP)
    add_strict_seeds(command)
    command.add_argument(
        "--priority", type=int, default=0, metavar="N", help="-100 (first) to 100 (last)"
    )
    command.add_argument(
        "--party",
        default="",
        metavar="NAME",
        help="the party of these seeds; scope, depth and external links then hold for the party",
    )
    for option in DEFINITION_OPTIONS:
        option.add_to(command, "from now on: ")
    add_change(command)
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Append the definition of the crawl, if it is new or changed, and the seeds."""
    seeds = seeds_of(options, options.file, "--file")
    party_limits = _pop_party_limits(options)
    changes = given_settings(options)
    if not seeds and (options.scope or not (changes or party_limits)):
        raise BadSettings("name at least one seed: a URL, or --file FILE")
    settings = settings_of(options, {"crawl": changes})
    now = clock.now()
    if options.crawl:
        check_id(options.crawl)
    with open_from(options, create=True) as opened:
        name = options.crawl or opened.id
        before = last_definition(opened.log, name)
        check_not_removed(before)
        if before and not options.scope:
            # A seed alone does not widen a crawl that may be running.
            check_scope(seeds, before.scope, "; --scope SCOPE sets another scope")
        given = changes if before else settings.crawl.model_fields_set
        crawl = define(request_of(options, settings.crawl, given, seeds, name), before, 0, now)
        if before is None or crawl.rules_digest != before.rules_digest:
            check_place(crawl.rules, opened.fleet)
            check_rules(settings, [crawl.rules])
        if before is None and opened.fleet and not settings.crawl.revisit:
            crawl = replace(crawl, revisit=DEFAULT_FLEET_POLICY)
        if party_limits or options.party in crawl.parties:
            crawl = define_party(crawl, options.party, seeds, party_limits)
        plan = plan_seeds(
            opened,
            seeds,
            now,
            priority=options.priority,
            party=options.party,
            definition=crawl,
        )
        effect = carry_out(opened, plan, options)
    say(effect.text)
    _print_crawl(crawl, before, options.party)
    return 0


def _print_crawl(crawl: CrawlDefined, before: CrawlDefined | None, party: str) -> None:
    """Print the party of the seeds, and the scope and revisits of the crawl."""
    if party:
        say(f"Party {party}: {party_text(crawl.parties.get(party, NO_PARTY))}.")
    state = _state(crawl, before, ("scope", "max_depth"))
    say(f"Scope{state}: {crawl.scope}, {plural(crawl.max_depth, 'link')} deep.")
    state = _state(crawl, before, REVISIT_FIELDS)
    say(f"Revisits{state}: {crawl.revisit}{_budget(crawl)}.")


def _pop_party_limits(options: argparse.Namespace) -> dict[str, Any]:
    """Remove the limits from *options* and return them, if a party is named: they are its own."""
    if not options.party:
        return {}
    limits = {
        "scope": options.scope or None,
        "max_depth": options.max_depth,
        "external_links": options.external_links,
    }
    options.scope, options.max_depth, options.external_links = "", None, None
    return {name: value for name, value in limits.items() if value is not None}


def _state(crawl: CrawlDefined, before: CrawlDefined | None, fields: tuple[str, ...]) -> str:
    """Return whether *fields* of the crawl have changed, in words; "" for a new crawl."""
    if before is None:
        return ""
    is_same = all(getattr(crawl, field) == getattr(before, field) for field in fields)
    return " (unchanged)" if is_same else " (changed)"


def _budget(crawl: CrawlDefined) -> str:
    if crawl.revisit == NEVER:
        return ": each page is visited once"
    budget = f", at most {number(crawl.budget)} visits a day" if crawl.budget else ", no budget"
    share = crawl.discovery_share
    return budget + ("" if share is None else f", {percent(share)} of them for new URLs")
