"""The settings that operators change while crawls run: blocklist, speed, sites and hosts."""

from math import inf

from msgspec import Struct

from gossamer.blocklist import describe_rule
from gossamer.crawl import (
    blocklist_of,
    canonical_of_typed,
    host_overrides_of,
    overrides_of,
    speed_of,
)
from gossamer.events import (
    BlocklistChanged,
    ChangeExpires,
    HostOverridden,
    SiteOverridden,
    Speed,
)
from gossamer.expiries import expiries_of
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.basics.views import view_of
from gossamer.log import Log
from gossamer.log.codec import key_of
from gossamer.speed import Speeds
from gossamer.web.url import Site


class BlockedRule(Struct, frozen=True, kw_only=True):
    """A rule of the blocklist."""

    rule: str
    text: str
    """Its effect, in words."""
    at: float
    """When it was added, in epoch seconds."""
    expires_at: float | None = None
    """When it is lifted by itself, in epoch seconds; null for never."""
    actor: str = ""
    """Who added it; "" if the program that did so has not stated it."""
    reason: str = ""


class BlocklistMatch(Struct, frozen=True, kw_only=True):
    """Whether the blocklist forbids a URL."""

    url: str
    """The canonical form of the URL."""
    rule: str
    """The rule that forbids it; "" if none does. Rules for networks need the address of the host,
    so they are not considered."""


class SpeedView(Struct, frozen=True, kw_only=True):
    """The rate limits of all crawls together."""

    speeds: tuple[Speed, ...]
    """In order of precedence."""
    active: Speed
    """The limit that applies now."""
    until: float | None
    """When another limit applies, in epoch seconds; null for never."""
    at: float
    """When the limits were set, in epoch seconds; 0 if they never were."""


class Overrides(Struct, frozen=True, kw_only=True):
    """The settings of `gossamer site`."""

    sites: dict[Site, SiteOverridden]
    hosts: dict[str, HostOverridden]
    """By host name."""


def read_blocklist(
    log: Log, search: str = "", after: str | None = None, limit: int | None = 100
) -> Page[BlockedRule]:
    """Return *limit* rules that contain *search*, sorted, after the rule *after*; None: all
    rules."""
    rules = [
        (rule, event)
        for rule, event in sorted(blocklist_of(log).rules.items())
        if search.lower() in rule and rule > (after or "")
    ]
    shown = rules[:limit]
    expiries = expiries_of(log)
    items = tuple(_make_rule(rule, event, expiries.get(key_of(event))) for rule, event in shown)
    return Page(items, items[-1].rule if len(rules) > len(shown) else None)


def _make_rule(rule: str, event: BlocklistChanged, expiry: ChangeExpires | None) -> BlockedRule:
    expires_at = expiry.expires_at if expiry else None
    return view_of(BlockedRule, event, rule=rule, text=describe_rule(rule), expires_at=expires_at)


def match_blocklist(log: Log, text: str) -> BlocklistMatch:
    """Return whether the blocklist forbids the typed URL *text*; raise BadSettings if it is not a
    URL."""
    url = canonical_of_typed(text)
    return BlocklistMatch(url=url, rule=blocklist_of(log).of_url(url))


def read_speeds(log: Log, now: float) -> SpeedView:
    """Return the rate limits, and the one that is active at *now*."""
    event = speed_of(log)
    speeds = Speeds(event)
    until = speeds.changes_at(now)
    return view_of(SpeedView, event, active=speeds.at(now), until=None if until == inf else until)


def read_overrides(log: Log) -> Overrides:
    """Return the settings of all sites and hosts that have any."""
    return Overrides(sites=overrides_of(log), hosts=host_overrides_of(log))
