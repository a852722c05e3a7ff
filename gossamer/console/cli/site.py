"""`gossamer site`: sets delay, quiet hours, budget or certificate of a site, or of one host."""

import argparse
from pathlib import Path
from typing import Any

from gossamer import clock
from gossamer.changes.sites import check_certificate, override_lines, plan_host, plan_site
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.options import add_place, non_negative, open_from, seconds
from gossamer.console.output import say, say_each
from gossamer.crawl import canonical_of_typed, host_overrides_of, overrides_of
from gossamer.errors import BadSettings
from gossamer.services.fetcher.http.tls import POLICIES, SHA256
from gossamer.speed import parse_hours
from gossamer.web.url import host_name, site_of, site_of_host

NONE = "none"

OPTIONS: dict[str, dict[str, Any]] = {
    "--quiet": {
        "metavar": "HOURS",
        "help": "make no requests in these hours, UTC: 08:00-18:30, 22:00-06:00, or none",
    },
    "--delay": {
        "metavar": "TIME",
        "help": "the minimum time between two visits to a host: 5, 90s, 2m, or none",
    },
    "--ours": {
        "action": argparse.BooleanOptionalAction,
        "help": "the site is yours: --delay replaces all other delays, however short",
    },
    "--off": {
        "action": argparse.BooleanOptionalAction,
        "help": "make no requests to its hosts; their URLs stay queued",
    },
    "--budget": {
        "type": non_negative,
        "metavar": "N",
        "help": "at most N visits a day to each host; 0: no limit",
    },
    "--certificate": {
        "metavar": "FILE",
        "help": "also trust the certificates in FILE (PEM) at this site; or sha256:DIGITS: trust "
        "this certificate alone, even if it is invalid; or record: visit in spite of an invalid "
        "certificate, without secrets, and record its fault; or verify: do not; or none",
    },
}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "site",
        nargs="?",
        metavar="SITE",
        help="a site, or any host or URL of it; without SITE, all settings are listed",
    )
    command.add_argument(
        "--host",
        action="store_true",
        help="set them for this host alone, on all schemes and ports; they override its site's",
    )
    command.add_argument(
        "--as-site", action="store_true", help="with --host: remove the settings of the host"
    )
    for name, settings in OPTIONS.items():
        command.add_argument(name, **settings)
    add_change(command, may_expire=True)
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Apply the changes, and list the settings of the site, or of all sites."""
    changes = _changes(options)
    if options.site is None:
        return _list(options, changes)
    url = canonical_of_typed(options.site)
    site, host = site_of(url), host_name(url)
    with open_from(options) as crawl:
        now = clock.now()
        if options.host:
            plan = plan_host(crawl, host, changes, now, options.as_site)
        else:
            plan = plan_site(crawl, site, changes, now)
        if changes or options.as_site:
            effect = carry_out(crawl, plan, options)
            if options.dry_run:
                say(effect.text)
                return 0
        lines = [*override_lines(crawl.log, site)]
    say_each(lines)
    return 0


def _list(options: argparse.Namespace, changes: dict[str, Any]) -> int:
    if changes or options.host:
        raise BadSettings("name the site: gossamer site SITE [options]")
    with open_from(options) as crawl:
        hosts = host_overrides_of(crawl.log)
        sites = {*overrides_of(crawl.log), *map(site_of_host, hosts)}
        lines = [line for site in sorted(sites) for line in override_lines(crawl.log, site)]
    say_each(lines)
    if not lines:
        say("No site or host has settings of its own.")
    return 0


def _changes(options: argparse.Namespace) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if options.quiet is not None:
        changes["quiet_from"], changes["quiet_until"] = quiet_hours(options.quiet)
    if options.delay is not None:
        changes["delay"] = None if options.delay == NONE else _delay(options.delay)
    if options.certificate is not None:
        changes["certificate"] = (
            "" if options.certificate == NONE else _read_certificate(options.certificate)
        )
    plain = {name: getattr(options, name) for name in ("ours", "off", "budget")}
    return changes | {name: value for name, value in plain.items() if value is not None}


def quiet_hours(text: str) -> tuple[float, float]:
    """Return *text* in seconds after midnight; raise BadSettings if it is not a range of hours."""
    if text == NONE:
        return 0.0, 0.0
    try:
        return parse_hours(text)
    except ValueError as error:
        raise BadSettings(
            f"--quiet {text} is not a range of hours: write 08:00-18:30, 22:00-06:00 (UTC) or none"
        ) from error


def _delay(text: str) -> float:
    try:
        return seconds(text)
    except argparse.ArgumentTypeError as error:
        raise BadSettings(f"--delay {error}") from error


def _read_certificate(text: str) -> str:
    if text in POLICIES:
        return text
    digits = text.partition(":")[2].replace(":", "").lower()
    certificate = (
        f"{SHA256}:{digits}" if text.lower().startswith(f"{SHA256}:") else _read_file(text)
    )
    try:
        check_certificate(certificate)
    except BadSettings as error:
        raise BadSettings(f"--certificate {text}: {error}") from error
    return certificate


def _read_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeError) as error:
        raise BadSettings(f"--certificate {path} cannot be read: {error}") from error
