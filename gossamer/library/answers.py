"""Typed answers of commands, from the JSON that they print."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Status:
    """The progress of a crawl."""

    pages: int
    """Pages that were fetched, since the crawl began."""
    queued: int
    """URLs that wait for a visit."""
    admitted: int
    """URLs that the crawl has found and admitted."""
    received: int
    """Bytes received."""
    is_running: bool | None
    """Whether a process crawls in the folder; None for a fleet."""
    idle: str
    """Why no page is fetched, and the remedy; "" if the crawl is active."""
    outcomes: Mapping[str, int]
    """Outcome → visits."""
    data: Mapping[str, Any] = field(repr=False)
    """Everything that `gossamer status --json` prints."""


@dataclass(frozen=True)
class Explanation:
    """What happened to a URL, and what happens next."""

    url: str
    """The form of the URL that the crawl uses."""
    state: str
    """`fetched`, `queued`, `failed`, `parked`, `refused`, `unknown` and others."""
    answer: str
    """The last visit and the next one, in one or two sentences."""
    data: Mapping[str, Any] = field(repr=False)
    """Everything that `gossamer why --json` prints."""

    def __str__(self) -> str:
        return self.answer


@dataclass(frozen=True)
class Visit:
    """One visit to a URL."""

    at: datetime
    outcome: str
    """`page`, `not_modified`, `redirect`, `not_found` and others."""
    status: int
    """The HTTP status; 0 without a response."""
    finding: str
    """What the visit found, for people: the verdict, and how much had changed."""
    reason: str
    """Why the visit failed; "" if it did not."""
    data: Mapping[str, Any] = field(repr=False)
    """Everything that `gossamer history --json` prints about the visit."""


@dataclass(frozen=True)
class Piece:
    """Words in a row that both versions have, or one of them."""

    kind: str
    """`equal`, `removed` or `added`."""
    text: str


@dataclass(frozen=True)
class Diff:
    """The difference of two archived versions of a page."""

    url: str
    old_at: datetime
    new_at: datetime
    change: float
    """The share of words that differ, from 0 to 1."""
    answer: str
    """What differs, for people."""
    pieces: tuple[Piece, ...] = field(repr=False)
    """The texts of both versions, in order. A removed piece comes before the one that replaces
    it."""
    data: Mapping[str, Any] = field(repr=False)
    """Everything that `gossamer diff --json` prints."""

    def __str__(self) -> str:
        return self.answer


def time_of(seconds: float) -> datetime:
    """Return epoch *seconds* as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def status_of(data: Mapping[str, Any]) -> Status:
    """Return the answer of `gossamer status --json`."""
    names = ("pages", "queued", "admitted", "received", "is_running", "idle", "outcomes")
    return Status(**{name: data[name] for name in names}, data=data)


def explanation_of(data: Mapping[str, Any]) -> Explanation:
    """Return the answer of `gossamer why --json`."""
    return Explanation(data["url"], data["state"], data["answer"], data)


def visit_of(data: Mapping[str, Any]) -> Visit:
    """Return a line of `gossamer history --json`."""
    return Visit(
        time_of(data["at"]),
        data["outcome"],
        data.get("status", 0),
        data.get("finding", ""),
        data.get("reason", ""),
        data,
    )


def diff_of(data: Mapping[str, Any]) -> Diff:
    """Return the answer of `gossamer diff --json`."""
    return Diff(
        data["url"],
        time_of(data["old"]["fetched_at"]),
        time_of(data["new"]["fetched_at"]),
        data["change"],
        data["answer"],
        tuple(Piece(one["kind"], one["text"]) for one in data["pieces"]),
        data,
    )
