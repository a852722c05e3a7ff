"""The settings that operators change while crawls run: blocklist, speed, sites and hosts.

All crawls share them, so their paths name no crawl.
"""

from typing import Annotated, Any

from litestar import delete, post, put
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType

from gossamer import clock
from gossamer.blocklist import parse_rule
from gossamer.changes.blocking import plan_block, plan_unblock
from gossamer.changes.commit import Committed
from gossamer.changes.sites import plan_host, plan_site
from gossamer.changes.speeds import plan_speeds
from gossamer.console.api.changing import Change, FromRequest, SettingChange, Texts, changing
from gossamer.console.api.parameters import SHARED_READER, Cursor, FromCrawl, Limit, Url, reading
from gossamer.crawl import canonical_of_typed, host_overrides_of, overrides_of, speed_of
from gossamer.errors import BadSettings
from gossamer.events import HostOverridden, SiteOverridden, Speed
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.crawls.controls import (
    BlockedRule,
    BlocklistMatch,
    Overrides,
    SpeedView,
    match_blocklist,
    read_blocklist,
    read_overrides,
    read_speeds,
)
from gossamer.web.url import host_name, site_of

FIELDS = SettingChange.__struct_fields__
Search = Annotated[str, QueryParameter(description="A part of the rule.", max_length=2000)]


@reading("/v1/blocklist", "The blocklist", SHARED_READER)
async def get_blocklist(
    reader: FromCrawl, search: Search = "", cursor: Cursor = None, limit: Limit = 100
) -> Page[BlockedRule]:
    """The rules of the blocklist, sorted: who added each, why, and when it expires."""
    return await reader.scan(lambda crawl: read_blocklist(crawl.log, search, cursor, limit))


@reading("/v1/blocklist/match", "The rule for a URL", SHARED_READER)
async def get_match(reader: FromCrawl, url: Url) -> BlocklistMatch:
    """The rule of the blocklist that forbids a URL."""
    return await reader.read(lambda crawl: match_blocklist(crawl.log, url))


@reading("/v1/speed", "The speed", SHARED_READER)
async def get_speed(reader: FromCrawl) -> SpeedView:
    """The rate limits by weekday and hour, and the active one."""
    return await reader.read(lambda crawl: read_speeds(crawl.log, clock.now()))


@reading("/v1/overrides", "Settings of sites and hosts", SHARED_READER)
async def get_overrides(reader: FromCrawl) -> Overrides:
    """Delays, budgets, quiet hours and certificates that were set for sites and hosts."""
    return await reader.read(lambda crawl: read_overrides(crawl.log))


class Rules(SettingChange, kw_only=True):
    """Rules of the blocklist."""

    rules: Texts


class Limits(SettingChange, kw_only=True):
    """All rate limits."""

    speeds: Annotated[tuple[Speed, ...], Meta(max_length=168)]
    """In order of precedence."""


class SiteSettings(SettingChange, kw_only=True):
    """Settings of a site. Omitted ones stay as they are."""

    delay: Annotated[float, Meta(ge=0)] | UnsetType | None = UNSET
    """Seconds between two visits to a host; null means the usual delay."""
    ours: bool | UnsetType = UNSET
    """Whether the owner of the site has set the delay, so that it may be short."""
    off: bool | UnsetType = UNSET
    """Whether the site gets no requests."""
    budget: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    """Visits to each host a day; 0 means no limit."""
    quiet_from: Annotated[float, Meta(ge=0, le=86400)] | UnsetType = UNSET
    """Start of the quiet hours, in seconds after midnight UTC."""
    quiet_until: Annotated[float, Meta(ge=0, le=86400)] | UnsetType = UNSET
    certificate: Annotated[str, Meta(max_length=100_000)] | UnsetType = UNSET
    """PEM text, or `sha256:` with 64 digits; "" means the usual authorities."""


class HostSettings(SettingChange, kw_only=True):
    """Settings of a host. Omitted ones stay as they are; null means the setting of the site."""

    delay: Annotated[float, Meta(ge=0)] | UnsetType | None = UNSET
    """Seconds between two visits."""
    ours: bool | UnsetType = UNSET
    """Whether the owner of the host has set the delay, so that it may be short."""
    off: bool | UnsetType | None = UNSET
    """Whether the host gets no requests."""
    budget: Annotated[int, Meta(ge=0)] | UnsetType | None = UNSET
    """Visits a day; 0 means no limit."""
    certificate: Annotated[str, Meta(max_length=100000)] | UnsetType | None = UNSET
    """PEM text, or `sha256:` with 64 digits; "" means the usual authorities."""


@changing(post, "/v1/blocklist", "Block")
async def block(changer: FromRequest, data: JSONBody[Rules]) -> Committed:
    """Add rules to the blocklist: hosts, domains, URLs, prefixes or networks."""
    rules = parse_rules(data.rules)
    return await changer.carry_out(data, lambda crawl, now: plan_block(crawl, rules, now))


@changing(delete, "/v1/blocklist", "Unblock")
async def unblock(changer: FromRequest, data: JSONBody[Rules]) -> Committed:
    """Lift rules of the blocklist."""
    rules = parse_rules(data.rules)
    return await changer.carry_out(data, lambda crawl, now: plan_unblock(crawl, rules, now))


@changing(put, "/v1/speed", "Set the speed")
async def set_speed(changer: FromRequest, data: JSONBody[Limits]) -> Committed:
    """Replace all rate limits."""
    return await changer.carry_out(
        data,
        lambda crawl, now: plan_speeds(crawl, data.speeds, now),
        lambda crawl: speed_of(crawl.log).at,
    )


@changing(put, "/v1/overrides/sites/{site:str}", "Set a site")
async def set_site(
    changer: FromRequest, site: FromPath[str], data: JSONBody[SiteSettings]
) -> Committed:
    """Set delay, budget, quiet hours or certificate of a site."""
    name = site_of(canonical_of_typed(site))
    return await changer.carry_out(
        data,
        lambda crawl, now: plan_site(crawl, name, settings_in(data), now),
        lambda crawl: _set_at(overrides_of(crawl.log).get(name)),
    )


@changing(put, "/v1/overrides/hosts/{host:str}", "Set a host")
async def set_host(
    changer: FromRequest, host: FromPath[str], data: JSONBody[HostSettings]
) -> Committed:
    """Set delay, budget or certificate of one host, on all schemes and ports."""
    name = host_name(canonical_of_typed(host))
    return await changer.carry_out(
        data,
        lambda crawl, now: plan_host(crawl, name, settings_in(data), now),
        lambda crawl: _set_at(host_overrides_of(crawl.log).get(name)),
    )


@changing(delete, "/v1/overrides/hosts/{host:str}", "Remove the settings of a host")
async def reset_host(
    changer: FromRequest, host: FromPath[str], data: JSONBody[Change]
) -> Committed:
    """Remove all settings of one host, so that those of its site count."""
    name = host_name(canonical_of_typed(host))
    return await changer.carry_out(
        data, lambda crawl, now: plan_host(crawl, name, {}, now, as_site=True)
    )


def _set_at(override: SiteOverridden | HostOverridden | None) -> float:
    return override.at if override else 0.0


def parse_rules(texts: tuple[str, ...]) -> list[str]:
    """Return the canonical forms of typed rules; raise BadSettings if one is invalid or none is
    given."""
    rules = [*dict.fromkeys(map(parse_rule, texts))]
    if not rules:
        raise BadSettings("name a rule")
    return rules


def settings_in(data: SiteSettings | HostSettings) -> dict[str, Any]:
    """Return the given settings; raise BadSettings if there are none."""
    found = {name: getattr(data, name) for name in data.__struct_fields__ if name not in FIELDS}
    given = {name: value for name, value in found.items() if value is not UNSET}
    if not given:
        raise BadSettings("name a setting")
    return given
