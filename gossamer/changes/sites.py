"""Changes of the settings of sites and hosts, and their words."""

import ssl
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from gossamer.changes.effects import estimate_override
from gossamer.changes.plan import Action, Effect, Plan, setting_plan
from gossamer.crawl import host_overrides_of, overrides_of
from gossamer.errors import BadSettings
from gossamer.events import HostOverridden, SiteOverridden
from gossamer.inspection.basics.figures import number, plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Log
from gossamer.overrides import Overridden
from gossamer.services.fetcher.http.tls import RECORD, SHA256, VERIFY, context_for
from gossamer.speed import format_hours
from gossamer.web.url import Site, site_of_host

FIXED = {"version", "crawl", "at", "site", "host"}
"""Fields of an override that are not settings."""
CERTIFICATE_TEXTS = {
    "": "trusts the usual certificates",
    VERIFY: "not visited with an invalid certificate",
    RECORD: "visited in spite of an invalid certificate",
}
"""Certificate setting → its words. The others name certificates."""
Override = TypeVar("Override", SiteOverridden, HostOverridden)


def plan_site(crawl: OpenCrawl, site: Site, values: Mapping[str, Any], now: float) -> Plan:
    """Return the plan that gives *values*, by fields of `SiteOverridden`, to *site*.

    All other settings of the site stay. Raise BadSettings for an invalid value.
    """
    before = overrides_of(crawl.log).get(site) or SiteOverridden(at=0.0, site=site)
    return _plan(crawl, "site", site, before, _change(before, values, now))


def plan_host(
    crawl: OpenCrawl, host: str, values: Mapping[str, Any], now: float, as_site: bool = False
) -> Plan:
    """Return the plan that gives *values*, by fields of `HostOverridden`, to the host name *host*.

    *as_site* first removes all settings of the host. Raise BadSettings for an invalid value.
    """
    if "quiet_from" in values:
        raise BadSettings("quiet hours hold for all hosts of a site: set them for the site")
    before = host_overrides_of(crawl.log).get(host) or HostOverridden(at=0.0, host=host)
    start = HostOverridden(at=0.0, host=host) if as_site else before
    if values.get("delay", 0.0) is None:
        values = {**values, "ours": False}
    return _plan(crawl, "host", host, before, _change(start, values, now))


def _change(before: Override, values: Mapping[str, Any], now: float) -> Override:
    if unknown := [name for name in values if name in FIXED or not hasattr(before, name)]:
        raise BadSettings(f"{unknown[0]} is not a setting of a site or a host")
    after = replace(before, at=now, **values)
    try:
        msgspec.convert(msgspec.to_builtins(after), type(before))
    except msgspec.ValidationError as error:
        raise BadSettings(str(error)) from error
    if values.get("certificate"):
        check_certificate(values["certificate"])
    return after


def check_certificate(certificate: str) -> None:
    """Raise BadSettings unless *certificate* is PEM text, `sha256:` with 64 digits, or a policy."""
    try:
        context_for(certificate)
    except ValueError as error:
        raise BadSettings(str(error)) from error


def _plan(
    crawl: OpenCrawl, action: Action, subject: str, before: Override, after: Override
) -> Plan:
    text = f"{subject}: {override_text(after)} (before: {override_text(before)})."
    return setting_plan(
        crawl.log,
        action,
        subject,
        [before],
        [after],
        Effect(text=text),
        lambda: estimate_override(crawl, before, after),
    )


def override_lines(log: Log, site: Site) -> Iterator[str]:
    """Yield the settings of *site*, and of its hosts."""
    override = overrides_of(log).get(site) or SiteOverridden(at=0.0, site=site)
    yield f"{site}: {override_text(override)}"
    for name, host_override in sorted(host_overrides_of(log).items()):
        if site_of_host(name) == site:
            yield f"{name} alone: {override_text(host_override)}"


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
        text = CERTIFICATE_TEXTS.get(override.certificate)
        yield text or f"trusts {_certificate_text(override.certificate)}"


def _to_a_host(override: Overridden) -> str:
    return " to a host" if isinstance(override, SiteOverridden) else ""


def _certificate_text(certificate: str) -> str:
    if certificate.startswith(f"{SHA256}:"):
        return f"the certificate {certificate} alone"
    first = certificate[: certificate.find("-----END")] + "-----END CERTIFICATE-----\n"
    first = first[first.find("-----BEGIN") :]
    digest = sha256(ssl.PEM_cert_to_DER_cert(first)).hexdigest()
    return f"{plural(certificate.count('-----BEGIN'), 'certificate')}, {SHA256}:{digest}"
