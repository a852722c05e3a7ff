"""`gossamer release`: visits parked URLs of a site, whatever their worth and the site's budgets.

The request goes to the log, and the frontier of the site carries it out: see
`services.frontier.parts`.
"""

import argparse

from console.cli.options import add_crawl, open_from
from console.output import GREEN, YELLOW, say
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.events import ReleaseRequested
from gossamer.log.codec import encode
from inspection.figures import plural
from inspection.parts import read_parts, site_of_typed


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("site", metavar="SITE", help="a site (example.org), or a URL of it")
    command.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="parked parts or budgets, as gossamer sites SITE names them (default: all)",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Request the release; return 1 if nothing is parked."""
    site = site_of_typed(options.site)
    with open_from(options) as crawl:
        found = read_parts(crawl, site)
        parked = {name: urls for name, urls in found.parked_urls.items() if urls}
        if missing := [name for name in options.parts if name not in parked]:
            names = ", ".join(repr(name) for name in parked) or "none"
            raise BadSettings(f"{site} has no parked part {missing[0]!r}; parked parts: {names}")
        if not parked:
            say(f"No URL of {site} is parked.", YELLOW)
            return 1
        chosen = tuple(options.parts)
        event = ReleaseRequested(crawl=crawl.id, at=clock.now(), site=site, parts=chosen)
        crawl.log.append([encode(event)])
        urls = sum(parked[name] for name in chosen or parked)
        say(f"{plural(urls, 'parked URL')} of {site} to be visited.", GREEN)
        if not crawl.fleet:
            say("The running crawl visits them, or the next gossamer crawl.")
    return 0
