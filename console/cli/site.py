"""`gossamer site`: what is different at a site, from now on, for all of its hosts or for one."""

import argparse
import ssl
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from console.cli.options import add_crawl, open_from, seconds, whole
from console.figures import number, plural
from gossamer import clock
from gossamer.crawl import canonical_of_typed, host_overrides_of, overrides_of
from gossamer.errors import BadSettings
from gossamer.events import HostOverridden, SiteOverridden
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.overrides import Overridden, site_of_host
from gossamer.speed import format_hours, parse_hours
from gossamer.terminal import printable
from gossamer.web.url import BadUrl, host_name, site_of
from services.fetcher.http.tls import SHA256, context_for

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
    command.add_argument(
        "--host",
        action="store_true",
        help="for this host alone, whatever its scheme and port: what is set comes before what its "
        "site has",
    )
    command.add_argument(
        "--as-site", action="store_true", help="with --host: all is as its site has it again"
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
        url = canonical_of_typed(options.site)
        site, host = site_of(url), host_name(url)
    except BadUrl as error:
        raise BadSettings(f"{options.site}: {error}") from error
    with open_from(options) as crawl:
        if options.host:
            _set_host(crawl.log, host, given, options.as_site)
        elif given:
            now = overrides_of(crawl.log).get(site) or SiteOverridden(at=0.0, site=site)
            crawl.log.append([encode(replace(now, at=clock.now(), **given))])
        lines = [*lines_of(crawl.log, site)]
    _show(lines)
    return 0


def _set_host(log: Log, host: str, given: dict[str, Any], as_site: bool) -> None:
    if "quiet_from" in given:
        raise BadSettings("--quiet is for all hosts of a site, without --host")
    now = host_overrides_of(log).get(host) or HostOverridden(at=0.0, host=host)
    if given.get("delay", 0.0) is None:
        given["ours"] = False
    if as_site:
        now = HostOverridden(at=0.0, host=host)
    if given or as_site:
        log.append([encode(replace(now, at=clock.now(), **given))])


def lines_of(log: Log, site: str) -> Iterator[str]:
    """Yield what is different at *site*, and at hosts of it."""
    whole = overrides_of(log).get(site) or SiteOverridden(at=0.0, site=site)
    yield f"{site}: {spelled(whole)}"
    for name, own in sorted(host_overrides_of(log).items()):
        if site_of_host(name) == site:
            yield f"{name} alone: {spelled(own)}"


def _list(options: argparse.Namespace, given: dict[str, Any]) -> int:
    if given or options.host:
        raise BadSettings("name the site for which that is set")
    with open_from(options) as crawl:
        hosts = host_overrides_of(crawl.log)
        sites = {*overrides_of(crawl.log), *map(site_of_host, hosts)}
        lines = [line for site in sorted(sites) for line in lines_of(crawl.log, site)]
    _show(lines)
    return 0


def _show(lines: list[str]) -> None:
    for line in lines:
        print(printable(line, LONGEST))


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
        context_for(certificate)
    except ValueError as error:
        raise BadSettings(f"--certificate {text}: {error}") from error
    return certificate


def _file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeError) as error:
        raise BadSettings(f"--certificate {path} cannot be read: {error}") from error


def spelled(at: Overridden) -> str:
    """Return what is different at a site or a host, in words."""
    same = "as everywhere" if isinstance(at, SiteOverridden) else "as its site"
    return ", ".join(_parts(at)) or same


def _parts(at: Overridden) -> Iterator[str]:
    if at.off is not None and (at.off or isinstance(at, HostOverridden)):
        yield "off" if at.off else "not off"
    if isinstance(at, SiteOverridden) and at.quiet_from != at.quiet_until:
        yield f"quiet hours {format_hours(at.quiet_from, at.quiet_until)} UTC"
    if at.delay is not None:
        word = "exactly" if at.ours else "at least"
        yield f"{word} {number(at.delay)} s between two visits{_to(at)}"
    if at.budget is not None and (at.budget or isinstance(at, HostOverridden)):
        yield f"{plural(at.budget, 'visit')} a day{_to(at)}" if at.budget else "any visits a day"
    if at.certificate is not None and (at.certificate or isinstance(at, HostOverridden)):
        yield f"trusts {_named(at.certificate)}" if at.certificate else "trusts as everywhere"


def _to(at: Overridden) -> str:
    return " to a host" if isinstance(at, SiteOverridden) else ""


def _named(certificate: str) -> str:
    if certificate.startswith(f"{SHA256}:"):
        return f"the certificate {certificate} alone"
    first = certificate[: certificate.find("-----END")] + "-----END CERTIFICATE-----\n"
    first = first[first.find("-----BEGIN") :]
    digest = sha256(ssl.PEM_cert_to_DER_cert(first)).hexdigest()
    return f"{plural(certificate.count('-----BEGIN'), 'certificate')}, {SHA256}:{digest}"
