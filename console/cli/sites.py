"""`gossamer sites`: the sites of a crawl, the one with the most hosts first."""

import argparse
from collections.abc import Iterator

import msgspec

from console.cli.options import add_crawl, add_listing, open_from
from console.cli.site import override_text
from console.output import YELLOW, say
from gossamer.terminal import json_line
from inspection.figures import plural
from inspection.hosts import Site, read_sites
from inspection.labels import LABELS


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_listing(command, "sites")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """List the sites. Return 1 if the list is empty."""
    with open_from(options) as crawl:
        sites = read_sites(crawl, limit=options.limit)
    for site in sites:
        if options.json:
            print(json_line(msgspec.json.encode(site)))
        else:
            say(f"{site.site}  {'; '.join(_parts(site))}")
    if not sites and not options.json:
        say("No URL has been admitted.", YELLOW)
    return 0 if sites else 1


def _parts(site: Site) -> Iterator[str]:
    yield plural(site.hosts, "host")
    for rule, count in sorted(site.refused.items()):
        yield f"{plural(count, 'URL')} refused: {LABELS.get(rule, rule)}"
    if site.has_wildcard:
        yield "any name below it resolves"
    for host, reason in sorted(site.distrusted.items()):
        yield f"validators of {host} are distrusted: {reason}"
    if site.override:
        yield override_text(site.override)
    for name, override in sorted(site.host_overrides.items()):
        yield f"{name} alone: {override_text(override)}"
