"""`gossamer release`: visits parked URLs of a site, whatever their worth and the site's budgets.

The request goes to the log, and the frontier of the site carries it out: see
`gossamer.services.frontier.partition.parts`.
"""

import argparse

from gossamer import clock
from gossamer.changes.releases import plan_release
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.options import add_crawl, open_from
from gossamer.console.output import GREEN, say
from gossamer.inspection.hosts.parts import site_of_typed


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("site", metavar="SITE", help="a site (example.org), or a URL of it")
    command.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="parked parts or budgets, as gossamer sites SITE names them (default: all)",
    )
    add_change(command)
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Request the release; return 1 if nothing is parked."""
    site = site_of_typed(options.site)
    with open_from(options) as crawl:
        plan = plan_release(crawl, site, options.parts, clock.now())
        effect = carry_out(crawl, plan, options)
    if not effect.count:
        return 1
    say(effect.text, GREEN)
    if not crawl.fleet:
        say("The running crawl visits them, or the next gossamer crawl.")
    return 0
