"""The states of a page, a site and a crawl, the input of a policy, and its output.

All states are bounded, so that they fit in a row and travel with an order: a page takes some 150
bytes whatever its age. Each policy has fields of its own, and all learn the same from a visit. So a
crawl that changes its policy loses nothing.

**Bytes.** States are stored as MessagePack. Whole numbers are written as integers, and numbers that
fit in four bytes as four bytes, because there are many pages. Fields that are missing at the end
have their defaults. Bytes that are not a valid state are read as an empty state.
"""

from enum import StrEnum
from struct import Struct
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, msgpack

from gossamer.events import EvidenceKind
from gossamer.events.outcomes import Absence
from gossamer.web.links import FINGERPRINT_BITS, MAX_SAMPLE, Sketch

DAY = 86400.0
Kind = EvidenceKind

Real: TypeAlias = Annotated[float, Meta(ge=-1e12, le=1e12)]
Amount: TypeAlias = Annotated[float, Meta(ge=0, le=1e12)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**12)]
"""Types with bounds that are checked at reading: foreign bytes cannot break a sum."""


Cell: TypeAlias = Annotated[int, Meta(ge=-2000, le=2000)]
"""A cell of the demand curve."""


Fingerprint: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << FINGERPRINT_BITS)]
"""The fingerprint of a page, shortened by `gossamer.web.links`."""


class Basis(StrEnum):
    """What decided the time of a planned visit."""

    RATE = "rate"
    """The estimated change rate: a visit is worth its price at that time."""
    SAMPLED = "sampled"
    """A visit earlier than the rate requires, to learn the rate."""
    PERIODIC = "periodic"
    """The page changes at regular times."""
    EXPLORED = "explored"
    """No visit is worth its price; rare visits check whether that is still true."""
    HINT = "hint"
    """A sitemap, a feed, a link or the response announced a change."""
    INTERVAL = "interval"
    """An interval of the policies `fixed`, `selective-incremental` or `adaptive`."""
    RECHECK = "recheck"
    """The page was missing at the last visit."""
    NEW = "new"
    """The page has never been visited."""
    REQUESTED = "requested"
    """An operator requested the visit."""


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """A statement about when a page changed."""

    kind: Kind
    changed_at: float
    """The stated date in seconds since 1970; for a new link, the time at which it was seen."""
    every: float = 0.0
    """The stated time between two changes, in seconds; 0 if it is not stated."""


class Visit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A visit that returned the page, or 304 Not Modified."""

    url: str
    at: float
    changed: bool = False
    """Whether a reader would see a difference; false at a first visit."""
    amount: float = 1.0
    """The fraction of the page that changed, if it changed: 0 to 1."""
    not_modified: bool = False
    """Whether the response was a 304, so that no content was compared."""
    evidence: tuple[Evidence, ...] = ()
    first: bool = False
    """Whether no document existed before this visit: the page's history starts over."""
    expires_at: float = 0.0
    """The time until which the response claims to be fresh; 0 if it does not claim any."""
    in_links: Sketch = 0
    """A sketch of the other sites that link to the page."""
    internal_links: tuple[int, ...] | None = None
    """A sample of the page's internal links (`gossamer.web.links`); None if the visit did
    not read them."""


class Hint(msgspec.Struct, frozen=True):
    """Evidence about a page that arrives between two visits."""

    url: str
    at: float
    evidence: Evidence


class Rate(msgspec.Struct, frozen=True, array_like=True):
    """What observations add to the prior of a change rate: changes, and days of exposure."""

    changes: Amount = 0.0
    exposure: Amount = 0.0
    """The observed time, in days."""


class Clock(msgspec.Struct, frozen=True, array_like=True):
    """The estimate of a page that changes at regular times. Variances are in days squared."""

    seen_at: Amount = 0.0
    """The estimated time of the last change; 0 if no change was seen."""
    width: Amount = 0.0
    """The days between the two visits around the last change."""
    next_at: Amount = 0.0
    """The expected time of the next change; 0 if the clock is not set."""
    period: Amount = 0.0
    """The days between two changes."""
    spread: Amount = 0.0
    """The variance of the next change."""
    shared: Real = 0.0
    """The covariance of the next change and the period."""
    period_spread: Amount = 0.0
    """The variance of the period."""
    lead: Real = 0.0
    """How much better than the rate the clock predicted recent visits, in nats."""


class PageState(msgspec.Struct, frozen=True, array_like=True):
    """The state of one page, for all policies. It is stored as an array: new fields come last."""

    at: Amount = 0.0
    """The time of the last visit; 0 before the first one."""
    changed_at: Amount = 0.0
    """The time of the last visit that saw a change."""
    due_at: Amount = 0.0
    """The planned time of the next visit; 0 if none is planned."""
    visits: Count = 0
    changes: Count = 0
    weight: Amount = 1.0
    """The importance of the page's freshness; a seed has 1."""
    pace: Amount = 0.0
    """The page's part of the crawl's demand, in visits a day."""
    interval: Amount = 0.0
    """The interval of `adaptive`, in seconds; 0 for the first interval."""
    records: Annotated[int, Meta(ge=1, lt=2048)] = 1
    """The records of `selective_incremental`: a leading 1, then a bit for each visit: 1 is a
    change."""
    share: Amount = 0.0
    """The adaptive threshold of `selective_incremental` (3.3); 0 for the first threshold."""
    rate: Rate = Rate()
    """The observed change rate; old observations fade slowly."""
    recent: Rate = Rate()
    """The observed change rate; old observations fade quickly."""
    expected: Amount = 0.0
    """The changes a day that the sums of the site and of the crawl contain for the page."""
    log_expected: Real = 0.0
    """The logarithm of the rate that the sums of the site and of the crawl contain."""
    cell: Cell = 0
    """The page's cell in the crawl's demand curve."""
    curve_rate: Amount = 0.0
    """The changes a day that the crawl's demand curve counts for the page."""
    lead: Real = 0.0
    """How much better than `rate` the rate `recent` predicted recent visits, in nats."""
    clock: Clock = Clock()
    """The estimate of regular change times."""
    heard: Count = 0
    """A bit for each kind of evidence that announced a change since the last visit."""
    rounds: Count = 0
    """The fr_max of `selective_incremental`; 0 for the first fr_max."""
    fresh: Amount = 0.0
    """The expected fraction of time in which the copy equals the page, if visits come as planned; 0
    if no visit to a document is planned."""
    age: Amount = 0.0
    """The expected mean age of the copy, in days."""
    missed: Count = 0
    """The number of consecutive visits that found no document."""
    missed_at: Amount = 0.0
    """The time of the last visit that found no document."""
    absent: Absence | None = None
    """Why the last visit found no document; None if it found one."""
    site_cell: Cell = 0
    """The page's cell in its site's demand curve."""
    site_curve_rate: Amount = 0.0
    """The changes a day that the site's demand curve counts; 0 if the site has no limit."""
    expires_at: Amount = 0.0
    """The time until which the last response claimed to be fresh; 0 if it did not claim any."""
    every: Amount = 0.0
    """The stated time between two changes, in seconds; 0 if it is not stated."""
    base: Amount = 0.0
    """The weight by depth and priority alone; 0 if it equals `weight`."""
    in_links: Annotated[int, Meta(ge=0, lt=2**32)] = 0
    """A sketch of the other sites that link to the page (`gossamer.web.links`)."""
    requests: Amount = 0.0
    """The number of requests for the page by operators; old requests fade."""
    internal_links: Annotated[tuple[Fingerprint, ...], Meta(max_length=MAX_SAMPLE)] = ()
    """A sample of the page's internal links, for `selective_incremental`."""


class SiteState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of one site: the statistics of its pages."""

    pages: Amount = 0.0
    unseen: Amount = 0.0
    """The number of pages that were visited only once: the sums do not contain them."""
    rates: Amount = 0.0
    """The sum of the pages' expected changes a day."""
    log_rates: Real = 0.0
    """The sum of the expected logarithms of the pages' rates."""
    demand: Amount = 0.0
    """The visits a day that the pages need."""
    limit: Amount = 0.0
    """The visits a day that politeness allows; 0 if no limit is known."""
    discovery: Amount = 0.0
    """The fraction of the limit that first visits used recently, while new URLs wait."""
    surcharge: Amount = 1.0
    """The factor of the price at this site, at least 1: above 1 where politeness limits visits."""
    priced_at: Amount = 0.0
    quiet_from: Amount = 0.0
    """The begin of quiet hours without planned visits, in seconds after midnight UTC."""
    quiet_until: Amount = 0.0
    """The end of quiet hours; equal to `quiet_from` if there are none."""
    curve: dict[Cell, Amount] = {}
    """The demand curve of the site's pages (`price`); empty if the site has no limit."""
    trust: dict[Kind, tuple[Amount, Amount, Amount, Amount]] = {}
    """Kind of evidence → the number of visits that found: announced and changed, announced and
    unchanged, not announced and changed, not announced and unchanged. Old visits fade."""
    changed_pages: dict[Fingerprint, Count] = {}
    """Page → the time of the last visit that found it changed, for a sample of pages."""
    halvings: Annotated[int, Meta(ge=0, le=FINGERPRINT_BITS)] = 0
    """The sample of `changed_pages` is one page in 2**halvings, by fingerprint."""


class CrawlState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a crawl, or of the part of a crawl that one frontier owns."""

    budget: Amount = 0.0
    """The visits a day that the crawl may make; 0 for as many as politeness allows."""
    tokens: Amount = 0.0
    tokens_at: Amount = 0.0
    visits: Count = 0
    pages: Amount = 0.0
    unseen: Amount = 0.0
    rates: Amount = 0.0
    log_rates: Real = 0.0
    demand: Amount = 0.0
    """The visits a day that all pages need."""
    curve: dict[Cell, Amount] = {}
    """The demand curve of all pages (`price`)."""
    price: Amount = 0.0
    """The price of a visit, in days of freshness of a page of weight 1: the Lagrange multiplier of
    the budget. 0 before it is computed."""
    priced_at: Amount = 0.0
    lateness: Amount = 0.0
    """The mean delay of visits after their planned time, in seconds."""
    weights: Amount = 0.0
    """The sum of the weights of pages with planned visits."""
    fresh: Amount = 0.0
    """The sum of the weights times the expected freshness of these pages."""
    age: Amount = 0.0
    """The sum of the weights times the expected mean age of these pages, in days."""


class States(NamedTuple):
    """The input of a policy: the states of a page, its site and the crawl."""

    page: PageState
    site: SiteState
    crawl: CrawlState


class Plan(NamedTuple):
    """The next visit to a page."""

    at: float | None
    """The time of the visit in seconds since 1970; None if the page is not visited again."""
    reason: str
    basis: Basis | None = None
    """None if there is no plan, or if the plan did not change."""


class Decision(NamedTuple):
    """The output of a policy."""

    states: States
    plan: Plan


SINGLE = Struct(">f")
MAX_RESIDUE = 1e-7
"""A sum below this value is a rounding residue."""


def to_single(x: float) -> float:
    """Round *x* to single precision (seven digits), which takes four bytes."""
    return float(SINGLE.unpack(SINGLE.pack(x))[0])


def clear_residue(x: float) -> float:
    """Return *x*, or 0 if *x* is a rounding residue of a sum that cannot be negative."""
    return x if x > MAX_RESIDUE else 0.0


S = TypeVar("S")

_encode = msgpack.Encoder().encode
_PAGE, _SITE, _CRAWL = (
    msgpack.Decoder(PageState),
    msgpack.Decoder(SiteState),
    msgpack.Decoder(CrawlState),
)


def pack(state: PageState | SiteState | CrawlState) -> bytes:
    """Encode *state*: at most 200 bytes for a page, and 160 more for its internal links."""
    return (
        _pack_short(msgspec.to_builtins(state)) if isinstance(state, PageState) else _encode(state)
    )


def unpack_page(data: bytes) -> PageState:
    """Decode the state of a page; an empty state if *data* is invalid."""
    page = _read(_PAGE, data, PageState())
    clock = page.clock
    if not page.weight or (clock.next_at and not (clock.spread and clock.period)):
        return PageState()
    return page


def unpack_site(data: bytes) -> SiteState:
    """Decode the state of a site; an empty state if *data* is invalid."""
    return _read(_SITE, data, SiteState())


def unpack_crawl(data: bytes) -> CrawlState:
    """Decode the state of a crawl; an empty state if *data* is invalid."""
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
