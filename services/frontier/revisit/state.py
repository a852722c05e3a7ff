"""What is remembered of a page, a site and a crawl, what a policy is told, and what it answers.

All of it is bounded, so that it can lie in a row and travel with an order: a page in some 150 bytes
(`packing`), whatever its age. What is learnt of a page does not depend on the policy, and each rule
has fields of its own: a crawl that changes its policy loses nothing.

[numbers] Numbers as they are kept: short.

[packing] What is remembered, as bytes: MessagePack, for a row and for an order.

Many pages make the size of a page count: whole numbers go as such, and what four bytes hold goes in
four. Reading gives back what was written; fields that are missing at the end are as at first. Bytes
that are no such state mean that nothing is known.
"""

from enum import StrEnum
from struct import Struct
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, msgpack

from gossamer.events import EvidenceKind
from gossamer.events.outcomes import Absence
from gossamer.web.in_links import Sketch
from gossamer.web.internal_links import BITS, MAX_SAMPLE

DAY = 86400.0
Kind = EvidenceKind

Real: TypeAlias = Annotated[float, Meta(ge=-1e12, le=1e12)]
Amount: TypeAlias = Annotated[float, Meta(ge=0, le=1e12)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**12)]
"""What is kept, as it is checked when it is read: bytes that came from elsewhere break no sum."""


Cell: TypeAlias = Annotated[int, Meta(ge=-2000, le=2000)]
"""Of the demand curve."""


Fingerprint: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << BITS)]
"""The fingerprint of a page, shortened by `gossamer.web.internal_links`."""


class Basis(StrEnum):
    """What decides when a page is visited again, in a word."""

    RATE = "rate"
    """How often it is believed to change: a visit is worth its price then."""
    SAMPLED = "sampled"
    """The same, but it is looked at sooner to know how fast it is."""
    PERIODIC = "periodic"
    """It changes at regular times."""
    EXPLORED = "explored"
    """No visit is worth its price, and one comes all the same, rarely."""
    HINT = "hint"
    """Something was said of it."""
    INTERVAL = "interval"
    """A rule that knows no price: `fixed`, `selective-incremental`, `adaptive`."""
    RECHECK = "recheck"
    """It was not found, and is looked for."""
    NEW = "new"
    """It was never visited."""
    REQUESTED = "requested"
    """An operator requested the visit."""


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that was said about when a page changed."""

    kind: Kind
    changed_at: float
    """The date that was given, as epoch seconds; of a new link, when the link was seen."""
    every: float = 0.0
    """How often it is said to change, in seconds; 0: that is not said."""


class Visit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A visit that ended with the page's content, or with "not modified"."""

    url: str
    at: float
    changed: bool = False
    """Whether a reader would see a difference; of a first visit, false."""
    amount: float = 1.0
    """How much of it changed, if it changed: 0 to 1."""
    not_modified: bool = False
    """It was a 304: what the server believes, not what we compared."""
    evidence: tuple[Evidence, ...] = ()
    first: bool = False
    """There was no document here before, whatever is remembered: its history starts over."""
    expires_at: float = 0.0
    """Until when the answer says that it stays as it is; 0: it does not say."""
    in_links: Sketch = 0
    """The other sites that link to it, of which was heard since the last visit, or before."""
    internal_links: tuple[int, ...] | None = None
    """A sample of the pages of its own site that it links to (`gossamer.web.internal_links`); None:
    the visit did not find out."""


class Hint(msgspec.Struct, frozen=True):
    """Something heard about a page between two visits."""

    url: str
    at: float
    evidence: Evidence


class Rate(msgspec.Struct, frozen=True, array_like=True):
    """What observations add to the prior of a change rate."""

    changes: Amount = 0.0
    exposure: Amount = 0.0
    """In days."""


class Clock(msgspec.Struct, frozen=True, array_like=True):
    """When a page that changes at regular times changes next. Variances are in days squared."""

    seen_at: Amount = 0.0
    """About when the last seen change happened; 0: none was seen."""
    width: Amount = 0.0
    """The days between the visits that saw it."""
    next_at: Amount = 0.0
    """When the next change is expected; 0: the clock is not set."""
    period: Amount = 0.0
    """In days."""
    spread: Amount = 0.0
    shared: Real = 0.0
    """The covariance of the next change and the period."""
    period_spread: Amount = 0.0
    lead: Real = 0.0
    """By how much the clock has predicted better of late than the rate, in nats."""


class PageState(msgspec.Struct, frozen=True, array_like=True):
    """What all policies remember of one page. Short: an array; new fields come last."""

    at: Amount = 0.0
    """Its last visit; 0: none yet."""
    changed_at: Amount = 0.0
    """The visit that last saw a change."""
    due_at: Amount = 0.0
    """When its next visit is planned; 0: not."""
    visits: Count = 0
    changes: Count = 0
    weight: Amount = 1.0
    """How much its freshness is worth, beside other pages."""
    pace: Amount = 0.0
    """Visits a day that the crawl's demand counts for it."""
    interval: Amount = 0.0
    """`adaptive`: seconds; 0: as it is at first."""
    records: Annotated[int, Meta(ge=1, lt=2048)] = 1
    """`selective_incremental`: a bit for each of the last visits, behind a one: 1 is a change."""
    share: Amount = 0.0
    """`selective_incremental`: the adapting share of 3.3; 0: as it is at first."""
    rate: Rate = Rate()
    """The change rate as observed, old observations faded slowly."""
    recent: Rate = Rate()
    """The same, faded quickly."""
    expected: Amount = 0.0
    """Changes a day, as the sums of its site and of the crawl have it."""
    log_expected: Real = 0.0
    cell: Cell = 0
    """Where the page is in the crawl's demand curve…"""
    asked: Amount = 0.0
    """…and its changes a day as they are counted there."""
    lead: Real = 0.0
    """By how much the quick one has predicted better of late, in nats."""
    clock: Clock = Clock()
    """What is known of regular times of change."""
    heard: Count = 0
    """A bit for each kind of evidence that has said it changed since the last visit."""
    rounds: Count = 0
    """`selective_incremental`: fr_max; 0: as it is at first."""
    fresh: Amount = 0.0
    """The share of the time for which its copy is expected to be as the page is, if visits come as
    planned; 0: it is not counted, since no visit to a document is planned."""
    age: Amount = 0.0
    """For how many days its copy is expected to have been out of date, on the average over time."""
    missed: Count = 0
    """How many visits in a row found no document…"""
    missed_at: Amount = 0.0
    """…the last of them…"""
    absent: Absence | None = None
    """…for this reason."""
    site_cell: Cell = 0
    """Where the page is in its site's demand curve…"""
    site_asked: Amount = 0.0
    """…and its changes a day as they are counted there; 0 where the site has no limit."""
    expires_at: Amount = 0.0
    """Until when its last answer said that it stays as it is; 0: it did not say."""
    every: Amount = 0.0
    """How often it is said to change, in seconds; 0: that is not said."""
    base: Amount = 0.0
    """Its weight by depth and priority alone; 0: as `weight`."""
    in_links: Annotated[int, Meta(ge=0, lt=2**32)] = 0
    """The other sites that link to it (`gossamer.web.in_links`)."""
    requests: Amount = 0.0
    """How often it was asked for; old requests fade."""
    internal_links: Annotated[tuple[Fingerprint, ...], Meta(max_length=MAX_SAMPLE)] = ()
    """`selective_incremental`: a sample of the pages of its own site that it links to."""


class SiteState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is remembered of one site: what its pages have in common."""

    pages: Amount = 0.0
    unseen: Amount = 0.0
    """How many of them were visited only once: they are not in these sums."""
    rates: Amount = 0.0
    """Sum of the expected changes a day of each."""
    log_rates: Real = 0.0
    """Sum of the expected logarithms of the same."""
    demand: Amount = 0.0
    """Visits a day that its pages ask for."""
    limit: Amount = 0.0
    """Visits a day that politeness allows; 0: not known to bind."""
    discovery: Amount = 0.0
    """The share of these that first visits have, of late: while new URLs wait there."""
    surcharge: Amount = 1.0
    """What a visit costs here, as a multiple of what it costs elsewhere: politeness binds."""
    priced_at: Amount = 0.0
    quiet_from: Amount = 0.0
    """Seconds after midnight UTC; no planned visit from here…"""
    quiet_until: Amount = 0.0
    """…until here. Equal: no quiet hours."""
    curve: dict[Cell, Amount] = {}
    """What its pages would ask for at any price, as `curve` has it; empty if no limit is known."""
    trust: dict[Kind, tuple[Amount, Amount, Amount, Amount]] = {}
    """Kind of evidence → visits that found: said and so, said and not so, not said but so,
    neither; old ones fade."""
    changed_pages: dict[Fingerprint, Count] = {}
    """`selective_incremental`: page → when a visit last found it changed; of some pages…"""
    halvings: Annotated[int, Meta(ge=0, le=BITS)] = 0
    """…those with the smallest fingerprints: one in two to the power of this."""


class CrawlState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is remembered of the crawl, or of the share of it that one frontier has."""

    budget: Amount = 0.0
    """Visits a day; 0: as many as politeness allows."""
    tokens: Amount = 0.0
    tokens_at: Amount = 0.0
    visits: Count = 0
    pages: Amount = 0.0
    unseen: Amount = 0.0
    rates: Amount = 0.0
    log_rates: Real = 0.0
    demand: Amount = 0.0
    """Visits a day that all pages ask for."""
    curve: dict[Cell, Amount] = {}
    """What all pages would ask for at any price, as `curve` has it."""
    price: Amount = 0.0
    """What a visit must be worth, in seconds of freshness of a page of weight 1: the Lagrange
    multiplier. 0: not yet known."""
    priced_at: Amount = 0.0
    lateness: Amount = 0.0
    """Seconds by which visits come later than planned."""
    weights: Amount = 0.0
    """Sum of the weights of the pages that are kept fresh…"""
    fresh: Amount = 0.0
    """…of their expected freshness times their weights, and of their expected age times them."""
    age: Amount = 0.0


class States(NamedTuple):
    """All that a policy goes by."""

    page: PageState
    site: SiteState
    crawl: CrawlState


class Plan(NamedTuple):
    """When a page is visited next, and why."""

    at: float | None
    """None: never."""
    why: str
    basis: Basis | None = None
    """None: there is no plan, or it is as it was."""


class Decision(NamedTuple):
    """A policy's answer."""

    states: States
    plan: Plan


SINGLE = Struct(">f")
MAX_RESIDUE = 1e-7
"""A sum that is smaller is what adding and subtracting left behind."""


def to_single(x: float) -> float:
    """Return *x* with seven digits, as four bytes hold it."""
    return float(SINGLE.unpack(SINGLE.pack(x))[0])


def clear_residue(x: float) -> float:
    """Return a sum of what is not negative without what adding and subtracting left behind."""
    return x if x > MAX_RESIDUE else 0.0


S = TypeVar("S")

_encode = msgpack.Encoder().encode
_PAGE, _SITE, _CRAWL = (
    msgpack.Decoder(PageState),
    msgpack.Decoder(SiteState),
    msgpack.Decoder(CrawlState),
)


def pack(state: PageState | SiteState | CrawlState) -> bytes:
    """Return *state* as bytes: at most 200 for a page, and 160 more for its internal links."""
    return (
        _pack_short(msgspec.to_builtins(state)) if isinstance(state, PageState) else _encode(state)
    )


def unpack_page(data: bytes) -> PageState:
    """Return the state of a page; an empty one if *data* is none."""
    page = _read(_PAGE, data, PageState())
    clock = page.clock
    if not page.weight or (clock.next_at and not (clock.spread and clock.period)):
        return PageState()
    return page


def unpack_site(data: bytes) -> SiteState:
    """Return the state of a site; an empty one if *data* is none."""
    return _read(_SITE, data, SiteState())


def unpack_crawl(data: bytes) -> CrawlState:
    """Return the state of a crawl; an empty one if *data* is none."""
    return _read(_CRAWL, data, CrawlState())


def _read(decoder: msgpack.Decoder[S], data: bytes, empty: S) -> S:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, ValueError):
        return empty


def _pack_short(value: Any) -> bytes:
    if isinstance(value, list | tuple):
        many = len(value)
        head = bytes([0x90 | many]) if many < 16 else b"\xdc" + many.to_bytes(2, "big")
        return head + b"".join(map(_pack_short, value))
    if not isinstance(value, float):
        return _encode(value)
    if value.is_integer():
        return _encode(int(value))
    single = SINGLE.pack(value)
    return b"\xca" + single if SINGLE.unpack(single)[0] == value else _encode(value)
