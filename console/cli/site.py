"""`gossamer site`: sets delay, quiet hours, budget or certificate of a site, or of one host."""

import argparse
import ssl
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from console.cli.options import add_crawl, non_negative, open_from, seconds
from console.output import say
from gossamer import clock
from gossamer.crawl import canonical_of_typed, host_overrides_of, overrides_of
from gossamer.errors import BadSettings
from gossamer.events import HostOverridden, SiteOverridden
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.overrides import Overridden, site_of_host
from gossamer.speed import format_hours, parse_hours
from gossamer.web.url import BadUrl, host_name, site_of
from inspection.figures import number, plural
from services.fetcher.http.tls import SHA256, context_for

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
        "this certificate alone, even if it is invalid; or none",
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
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Apply the changes, and list the settings of the site, or of all sites."""
    changes = _changes(options)
    if options.site is None:
        return _list(options, changes)
    try:
        url = canonical_of_typed(options.site)
        site, host = site_of(url), host_name(url)
    except BadUrl as error:
        raise BadSettings(f"{options.site}: {error}") from error
    with open_from(options) as crawl:
        if options.host:
            _set_host(crawl.log, host, changes, options.as_site)
        elif changes:
            now = overrides_of(crawl.log).get(site) or SiteOverridden(at=0.0, site=site)
            crawl.log.append([encode(replace(now, at=clock.now(), **changes))])
        lines = [*lines_of(crawl.log, site)]
    _print(lines)
    return 0


def _set_host(log: Log, host: str, changes: dict[str, Any], as_site: bool) -> None:
    if "quiet_from" in changes:
        raise BadSettings("--quiet holds for all hosts of a site: leave out --host")
    now = host_overrides_of(log).get(host) or HostOverridden(at=0.0, host=host)
    if changes.get("delay", 0.0) is None:
        changes["ours"] = False
    if as_site:
        now = HostOverridden(at=0.0, host=host)
    if changes or as_site:
        log.append([encode(replace(now, at=clock.now(), **changes))])


def lines_of(log: Log, site: str) -> Iterator[str]:
    """Yield the settings of *site*, and of its hosts."""
    override = overrides_of(log).get(site) or SiteOverridden(at=0.0, site=site)
    yield f"{site}: {override_text(override)}"
    for name, host_override in sorted(host_overrides_of(log).items()):
        if site_of_host(name) == site:
            yield f"{name} alone: {override_text(host_override)}"


def _list(options: argparse.Namespace, changes: dict[str, Any]) -> int:
    if changes or options.host:
        raise BadSettings("name the site: gossamer site SITE [options]")
    with open_from(options) as crawl:
        hosts = host_overrides_of(crawl.log)
        sites = {*overrides_of(crawl.log), *map(site_of_host, hosts)}
        lines = [line for site in sorted(sites) for line in lines_of(crawl.log, site)]
    _print(lines)
    if not lines:
        say("No site or host has settings of its own.")
    return 0


def _print(lines: list[str]) -> None:
    for line in lines:
        say(line)


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
    digits = text.partition(":")[2].replace(":", "").lower()
    certificate = (
        f"{SHA256}:{digits}" if text.lower().startswith(f"{SHA256}:") else _read_file(text)
    )
    try:
        context_for(certificate)
    except ValueError as error:
        raise BadSettings(f"--certificate {text}: {error}") from error
    return certificate


def _read_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeError) as error:
        raise BadSettings(f"--certificate {path} cannot be read: {error}") from error


def override_text(override: Overridden) -> str:
    """Return the settings of a site or a host in words."""
    default = "default settings" if isinstance(override, SiteOverridden) else "as its site"
    return ", ".join(_parts(override)) or default


def _parts(override: Overridden) -> Iterator[str]:
    if override.off is not None and (override.off or isinstance(override, HostOverridden)):
        yield "off" if override.off else "not off"
    if isinstance(override, SiteOverridden) and override.quiet_from != override.quiet_until:
        yield f"quiet hours {format_hours(override.quiet_from, override.quiet_until)} UTC"
    if override.delay is not None:
        word = "exactly" if override.ours else "at least"
        yield f"{word} {number(override.delay)} s between two visits{_to_a_host(override)}"
    if override.budget is not None and (override.budget or isinstance(override, HostOverridden)):
        yield (
            f"{plural(override.budget, 'visit')} a day{_to_a_host(override)}"
            if override.budget
            else "any number of visits a day"
        )
    if override.certificate is not None and (
        override.certificate or isinstance(override, HostOverridden)
    ):
        yield (
            f"trusts {_certificate_text(override.certificate)}"
            if override.certificate
            else "trusts the usual certificates"
        )


def _to_a_host(override: Overridden) -> str:
    return " to a host" if isinstance(override, SiteOverridden) else ""


def _certificate_text(certificate: str) -> str:
    if certificate.startswith(f"{SHA256}:"):
        return f"the certificate {certificate} alone"
    first = certificate[: certificate.find("-----END")] + "-----END CERTIFICATE-----\n"
    first = first[first.find("-----BEGIN") :]
    digest = sha256(ssl.PEM_cert_to_DER_cert(first)).hexdigest()
    return f"{plural(certificate.count('-----BEGIN'), 'certificate')}, {SHA256}:{digest}"
