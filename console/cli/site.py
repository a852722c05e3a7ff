"""`gossamer site`: what is different at a site, from now on, for all of its hosts."""

import argparse
import ssl
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from console.cli.options import add_crawl, open_from, seconds, whole
from console.figures import number, plural
from console.printable import printable
from gossamer import clock
from gossamer.crawl import overrides_of, typed
from gossamer.errors import BadSettings
from gossamer.events import SiteOverridden
from gossamer.log.codec import encode
from gossamer.speed import parse_hours, spelled_hours
from gossamer.web.url import BadUrl, site_of
from services.fetcher.http.tls import SHA256, trusting

NONE = "none"
LONGEST = 500
"""Characters of a line."""


OPTIONS: dict[str, dict[str, Any]] = {
    "--quiet": {
        "metavar": "HOURS",
        "help": "ask nothing of its hosts in these hours, UTC: 08:00-18:30, 22:00-06:00, or none",
    },
    "--delay": {
        "metavar": "TIME",
        "help": "at least so long between two visits to a host: 5, 90s, 2m, or none",
    },
    "--ours": {
        "action": argparse.BooleanOptionalAction,
        "help": "the site is yours: that delay counts alone, however short",
    },
    "--off": {
        "action": argparse.BooleanOptionalAction,
        "help": "ask nothing of its hosts; what waits there goes on waiting",
    },
    "--budget": {
        "type": whole,
        "metavar": "N",
        "help": "most visits a day to each host; 0: no limit",
    },
    "--certificate": {
        "metavar": "FILE",
        "help": "trust the certificates in it (PEM) at this site, too; or sha256:DIGITS, for that "
        "one alone, whatever is wrong with it; or none",
    },
}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "site",
        nargs="?",
        metavar="SITE",
        help="a site, or any host or URL of it; without one all that are different are listed",
    )
    for name, how in OPTIONS.items():
        command.add_argument(name, **how)
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Say what is different at the site, or at which sites; before, set what is given."""
    given = _given(options)
    if options.site is None:
        return _list(options, given)
    try:
        site = site_of(typed(options.site))
    except BadUrl as error:
        raise BadSettings(f"{options.site}: {error}") from error
    with open_from(options) as crawl:
        site_now = overrides_of(crawl.log).get(site) or SiteOverridden(at=0.0, site=site)
        if given:
            site_now = replace(site_now, at=clock.now(), **given)
            crawl.log.append([encode(site_now)])
    print(printable(f"{site}: {spelled(site_now)}", LONGEST))
    return 0


def _list(options: argparse.Namespace, given: dict[str, Any]) -> int:
    if given:
        raise BadSettings("name the site for which that is set")
    with open_from(options) as crawl:
        events = overrides_of(crawl.log).values()
    for event in sorted(events, key=lambda event: event.site):
        print(printable(f"{event.site}: {spelled(event)}", LONGEST))
    return 0


def _given(options: argparse.Namespace) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if options.quiet is not None:
        given["quiet_from"], given["quiet_until"] = quiet_hours(options.quiet)
    if options.delay is not None:
        given["delay"] = None if options.delay == NONE else _delay(options.delay)
    if options.certificate is not None:
        given["certificate"] = "" if options.certificate == NONE else _read(options.certificate)
    plain = {name: getattr(options, name) for name in ("ours", "off", "budget")}
    return given | {name: value for name, value in plain.items() if value is not None}


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


def _delay(text: str) -> float:
    try:
        return seconds(text)
    except argparse.ArgumentTypeError as error:
        raise BadSettings(f"--delay {error}") from error


def _read(text: str) -> str:
    digits = text.partition(":")[2].replace(":", "").lower()
    certificate = f"{SHA256}:{digits}" if text.lower().startswith(f"{SHA256}:") else _file(text)
    try:
        trusting(certificate)
    except ValueError as error:
        raise BadSettings(f"--certificate {text}: {error}") from error
    return certificate


def _file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeError) as error:
        raise BadSettings(f"--certificate {path} cannot be read: {error}") from error


def spelled(site: SiteOverridden) -> str:
    """Return what is different at a site, in words."""
    return ", ".join(_parts(site)) or "as everywhere"


def _parts(site: SiteOverridden) -> Iterator[str]:
    if site.off:
        yield "off"
    if site.quiet_from != site.quiet_until:
        yield f"quiet hours {spelled_hours(site.quiet_from, site.quiet_until)} UTC"
    if site.delay is not None:
        word = "exactly" if site.ours else "at least"
        yield f"{word} {number(site.delay)} s between two visits to a host"
    if site.budget:
        yield f"{plural(site.budget, 'visit')} a day to each host"
    if site.certificate:
        yield f"trusts {_named(site.certificate)}"


def _named(certificate: str) -> str:
    if certificate.startswith(f"{SHA256}:"):
        return f"the certificate {certificate} alone"
    first = certificate[: certificate.find("-----END")] + "-----END CERTIFICATE-----\n"
    first = first[first.find("-----BEGIN") :]
    digest = sha256(ssl.PEM_cert_to_DER_cert(first)).hexdigest()
    return f"{plural(certificate.count('-----BEGIN'), 'certificate')}, {SHA256}:{digest}"
