"""The visits to a host's usage files: `tdmrep.json`, and the licenses that its robots.txt names.

They are due after robots.txt and before the pages, and again when they expire. An order with such
visits changes no queue. A file that cannot be fetched says nothing and never blocks its host. If it
was read before and the server fails now, its statements stay in force.

Only license files of the host itself are visited, unless robots.txt disallows them. The URL of any
other license is a statement without a verdict.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from gossamer.events import CrawlDefined, OrderId, Outcome, Purpose, Visit, VisitEnded
from gossamer.events.outcomes import OUTCOMES, Fate
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.tables.hosts import RobotsRow
from gossamer.web.robots import PATH, LicenseLine, RobotsRules
from gossamer.web.url import HostKey, host_key
from gossamer.web.usage import License, Source, Statement
from gossamer.web.usage.files import TDMREP_PATH, FileStatement, UsageFile
from gossamer.web.usage.readers import MINING

FAILURE_AGE = 86400.0
"""Seconds after the host's backoff until a usage file is requested again that the server failed to
send. The pages of the host are visited in this time."""
ALWAYS, NEVER = "always", "never"
"""Values of `frontier.usage_files`."""


def due_usage_urls(
    host: HostKey, row: RobotsRow, setting: str, crawl: CrawlDefined, now: float
) -> list[str]:
    """Return the URLs of the usage files that are to be visited before pages of *host*."""
    stored = {file.url: file for file in row.usage_files}
    return [
        url
        for url in _needed_urls(host, row.rules, setting, crawl)
        if url not in stored or stored[url].expires_at <= now
    ]


def _needed_urls(
    host: HostKey, rules: RobotsRules, setting: str, crawl: CrawlDefined
) -> Iterable[str]:
    if setting == NEVER:
        return
    urls = [f"{host}{TDMREP_PATH}"] if setting == ALWAYS or {*crawl.purposes} & {*MINING} else []
    urls += _own_licenses(host, rules)
    yield from (url for url in dict.fromkeys(urls) if rules.allows(url))


def _own_licenses(host: HostKey, rules: RobotsRules) -> list[str]:
    """Return the URLs of the license files on *host* that its robots.txt names."""
    return [line.url for line in rules.licenses if host_key(line.url) == host]


def archived_files(host: HostKey, row: RobotsRow | None) -> Iterator[str]:
    """Yield the URLs of the files of *host* whose captures the archive has by URL."""
    yield f"{host}{PATH}"
    yield from (file.url for file in row.usage_files) if row else ()


def make_usage_visits(order: OrderId, urls: Sequence[str]) -> tuple[Visit, ...]:
    """Return the visits of *order* to usage files."""
    return tuple(
        Visit(id=f"{order}.{index}@{url}", url=url, purpose=Purpose.USAGE)
        for index, url in enumerate(urls)
    )


def carried_files(row: RobotsRow, urls: Sequence[str]) -> tuple[UsageFile, ...]:
    """Return the usage files for an order of *urls*, with the licenses that could not be read."""
    files = [file.narrow_to(urls) for file in _files_in_force(row.rules, row.usage_files)]
    found = [file for file in files if file.statements]
    read = {file.url for file in found}
    lines = {line.url: line for line in row.rules.licenses if line.url not in read}
    return *found, *map(_unread_license, lines.values())


def _unread_license(line: LicenseLine) -> UsageFile:
    """Return a file whose statement is the URL of a license that was not read."""
    statement = Statement(
        source=Source.LICENSE,
        place=f"robots.txt line {line.line}",
        text=f"License: {line.url}"[:300],
        license=License(line.url),
    )
    return UsageFile(line.url, (FileStatement("/", statement),), fault="it was not read")


def record_usage_file(
    partition: Partition, host: Host, event: VisitEnded, until: float, now: float
) -> None:
    """Store the usage file of a visit that has ended; *until*: when the host's backoff ends."""
    if OUTCOMES[event.outcome].fate is Fate.STAY:
        return
    reason = event.reason or str(event.outcome)
    file = event.usage_file or UsageFile(event.visit.url, fault=reason, fetched_at=now)
    is_answer = OUTCOMES[event.outcome].absence is None or event.outcome in _ANSWERS
    has_failed = event.usage_file is None or not is_answer
    _store(partition, host, file, until if has_failed else None)


_ANSWERS = frozenset(
    {
        Outcome.GONE,
        Outcome.CLIENT_ERROR,
        Outcome.REDIRECT,
        Outcome.BAD_REDIRECT,
        Outcome.ROBOTS_EXCLUDED,
        Outcome.SIGNATURE_ASKED,
    }
)
"""Outcomes without a file that are the server's answer, or ours, and no failure."""


def give_up_usage_files(partition: Partition, host: Host, until: float, now: float) -> None:
    """Treat the usage files of *host* that are due before *until* as failed: the host backs off
    until then. Otherwise two files could block the host in turns."""
    row, key = partition.robots(host), host.row.host
    if row is None:
        return
    valid = {file.url for file in row.usage_files if file.expires_at > until}
    for url in {f"{key}{TDMREP_PATH}", *_own_licenses(key, row.rules)} - valid:
        file = UsageFile(url, fault="its host backed off before the visit", fetched_at=now)
        _store(partition, host, file, until)


def _store(partition: Partition, host: Host, file: UsageFile, failed_until: float | None) -> None:
    """Store *file*. If it could not be fetched as a whole, it is not requested before
    *failed_until*, the end of the host's backoff. If nothing of it was read, its last statements
    stay in force."""
    row = partition.robots(host)
    if row is None:
        return
    others = [one for one in row.usage_files if one.url != file.url]
    if failed_until is not None:
        before = next((one for one in row.usage_files if one.url == file.url), None)
        statements = file.statements or (before.statements if before else ())
        file = replace(file, statements=statements, expires_at=failed_until + FAILURE_AGE)
    files = _files_in_force(row.rules, (*others, file))
    partition.learn_robots(host, replace(row, usage_files=tuple(files)))


def _files_in_force(rules: RobotsRules, files: Iterable[UsageFile]) -> list[UsageFile]:
    """Return those of *files* that robots.txt still names, or that need no name."""
    named = {line.url for line in rules.licenses}
    return [file for file in files if file.is_tdmrep or file.url in named]
