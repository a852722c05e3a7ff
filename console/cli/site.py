"""`gossamer site`: what is different at a site, from now on: its quiet hours."""

import argparse

from msgspec.structs import replace

from console.cli.options import add_crawl, open_from
from console.printable import printable
from gossamer import clock
from gossamer.crawl import typed
from gossamer.errors import BadSettings
from gossamer.events import SiteOverridden
from gossamer.log import Log
from gossamer.log.codec import encode, key_of
from gossamer.log.control import in_force
from gossamer.speed import parse_hours, spelled_hours
from gossamer.web.url import BadUrl, site_of

NONE = "none"
LONGEST = 500
"""Characters of a line."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument("site", metavar="SITE", help="a site, or any host or URL of it")
    command.add_argument(
        "--quiet",
        metavar="HOURS",
        help="ask nothing of its hosts in these hours, UTC: 08:00-18:30, 22:00-06:00, or none",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Say what is different at the site; before, set what is given."""
    try:
        site = site_of(typed(options.site))
    except BadUrl as error:
        raise BadSettings(f"{options.site}: {error}") from error
    given = None if options.quiet is None else quiet_hours(options.quiet)
    with open_from(options) as crawl:
        site_now = _in_force(crawl.log, site)
        if given is not None:
            begin, end = given
            site_now = replace(site_now, at=clock.now(), quiet_from=begin, quiet_until=end)
            crawl.log.append([encode(site_now)])
    print(printable(f"{site}: {_spelled(site_now)}", LONGEST))
    return 0


def _in_force(log: Log, site: str) -> SiteOverridden:
    nothing = SiteOverridden(at=0.0, site=site)
    found = in_force(log).get(key_of(nothing))
    return found if isinstance(found, SiteOverridden) else nothing


def quiet_hours(text: str) -> tuple[float, float]:
    """Return the seconds after midnight that *text* means; raise BadSettings if it means none."""
    if text == NONE:
        return 0.0, 0.0
    try:
        return parse_hours(text)
    except ValueError as error:
        raise BadSettings(
            f"--quiet {text}: write 08:00-18:30, 22:00-06:00 or none; times are UTC"
        ) from error


def _spelled(site: SiteOverridden) -> str:
    if site.quiet_from == site.quiet_until:
        return "no quiet hours"
    return f"quiet hours {spelled_hours(site.quiet_from, site.quiet_until)} UTC"
