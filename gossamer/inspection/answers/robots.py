"""A host's robots.txt as data: its rules, the one that decides about a URL, and the stored copy."""

from itertools import islice

from msgspec import Struct

from gossamer.errors import GossamerError
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.services.frontier.tables.hosts import RobotsRow
from gossamer.web.robots import PATH, RobotsRules, Rule
from gossamer.web.url import HostKey, host_key

MAX_RULES = 1000
"""Rules that are returned. A file may have tens of thousands."""
MAX_TEXT = 500 << 10
"""Bytes of the archived copy: the part of the file that counts (RFC 9309, 2.5)."""


class RobotsSummary(Struct, frozen=True, kw_only=True):
    """The state of a host's robots.txt."""

    status: int
    """The status of the response; 0 if there was none."""
    fetched_at: float
    """In epoch seconds."""
    expires_at: float
    """When it is fetched again before the next visit, in epoch seconds."""
    forbidden: str
    """Why everything is disallowed because the file could not be fetched; "" otherwise."""
    unreachable_since: float | None
    """Since when the file cannot be read; null if it can."""
    rules: int
    """Allow and Disallow lines that apply to the crawler."""
    crawl_delay: float
    """In seconds; 0 without one."""


class RobotsLine(Struct, frozen=True, kw_only=True):
    """An Allow or Disallow line that applies to the crawler."""

    line: int
    """The number of the line in the file."""
    allow: bool
    pattern: str
    decides: bool
    """Whether it decides about the URL: the matching line with the longest pattern does."""


class RobotsView(Struct, frozen=True, kw_only=True):
    """A host's robots.txt, and its answer for a URL."""

    host: HostKey
    url: str
    """The URL that was asked about; "" without one."""
    allowed: bool | None
    """Whether the URL may be visited; null without a URL."""
    answer: str
    """The line that decides about the URL, for people; "" without a URL."""
    summary: RobotsSummary
    lines: tuple[RobotsLine, ...]
    """At most `MAX_RULES` lines, in the order of the file, and the one that decides."""
    usage: tuple[str, ...]
    """The statements about the use of pages, as in the file."""
    text: str
    """The last archived copy; "" if there is none."""
    text_at: float | None
    """When that copy was fetched, in epoch seconds; null without one."""
    no_text: str
    """Why there is no copy, for people; "" if there is one."""


def summarize_robots(row: RobotsRow) -> RobotsSummary:
    """Return the state in the *row* of a robots.txt."""
    rules = row.rules
    count = rules.lines.count("\n") + bool(rules.lines)
    return view_of(RobotsSummary, row, rules, rules=count)


def read_robots(crawl: OpenCrawl, text: str) -> RobotsView:
    """Return the robots.txt of the host that *text* names; for a URL with a path, its answer, too.

    Raise NotFound if it was not read yet, and BadSettings if *text* is not a host or a URL.
    """
    typed = crawl_form(crawl, text).url
    host = host_key(typed)
    url = "" if typed == f"{host}/" and not text.endswith("/") else typed
    row = crawl.store().table(RobotsRow).get(host)
    if row is None:
        raise NotFound(f"the {PATH} of {host} was not read yet")
    rules = row.rules
    deciding = rules.deciding_rule(url) if url else None
    copy, at, fault = _read_archived(crawl, host)
    return RobotsView(
        host=host,
        url=url,
        allowed=rules.allows(url) if url else None,
        answer=rules.explain(url) if url else "",
        summary=summarize_robots(row),
        lines=_lines(rules.rules, deciding),
        usage=usage_lines(rules),
        text=copy,
        text_at=at,
        no_text=fault,
    )


def usage_lines(rules: RobotsRules) -> tuple[str, ...]:
    """Return the statements about the use of pages, each as in the file, with its line."""
    return tuple(f"line {line.line}: {line.name}: {line.value}" for line in rules.usage)


def _lines(rules: tuple[Rule, ...], deciding: Rule | None) -> tuple[RobotsLine, ...]:
    shown = [*islice(rules, MAX_RULES)]
    if deciding and deciding.line and deciding not in shown:
        shown.append(deciding)
    return tuple(view_of(RobotsLine, rule, decides=rule == deciding) for rule in shown)


def _read_archived(crawl: OpenCrawl, host: HostKey) -> tuple[str, float | None, str]:
    """Return the text of the last archived copy, when it was fetched, and why there is none."""
    # Imported here, because fsspec takes longer to import than a host takes to explain.
    from gossamer.inspection.archive.versions import decode_file, read_version

    try:
        version = read_version(crawl, f"{host}{PATH}")
        text = decode_file(version.capture, MAX_TEXT).decode("utf-8", "replace")
    except GossamerError as error:
        return "", None, str(error)
    return text, version.at, ""
