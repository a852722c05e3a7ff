"""The tour names existing events and tables, and its rows match a crawl."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.events import DEFAULT_CRAWL
from gossamer.events.topics import TOPICS
from gossamer.procedures.tables import TABLES
from gossamer.services.dedup.seen import SeenRow
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.tables.hosts import HostRow
from tests.flow.virtual import START, VirtualCrawl

TOUR = (Path(__file__).resolve().parents[2] / "docs" / "tour.md").read_text()
EVENT = re.compile(r"`(\w+)`\s+on\s+`([\w.]+)`")
ITEM = re.compile(r"^- \*(\w+):\*(.*(?:\n  .*)*)", re.MULTILINE)
"""An item of a step: its name, and its text with the indented lines that follow."""
TABLE = re.compile(r"[,;]\s+`(\w+)`")
"""A table in a list of tables."""
TABLE_NAMES = {row.table for row in TABLES} | {SeenRow.table}
HOME = b"""<title>Museum</title><a href="/about">About</a> <a href="/old">Old</a>
<a href="/busy">Shop</a>"""


def test_events_named_in_the_tour_are_on_their_topics() -> None:
    found = EVENT.findall(TOUR)
    assert len(found) > 15
    carried = {(kind.event, topic.name) for topic in TOPICS.values() for kind in topic.events}
    assert [pair for pair in found if pair not in carried] == []


def test_tables_named_in_the_tour_exist() -> None:
    written = [text for name, text in ITEM.findall(TOUR) if name == "Writes"]
    without_details = [re.sub(r"\([^()]*\)", "", text) for text in written]
    named = {name for text in without_details for name in TABLE.findall(f", {text}")}
    assert len(named) > 15
    assert named - TABLE_NAMES == set()


def museum(url: str, now: float) -> tuple[float, Reply]:
    """Answer as the server in the tour does: `/busy` is busy for 100 seconds."""
    path = url.removeprefix("https://www.museum.example")
    match path:
        case "/robots.txt":
            took, answer = 0.2, Reply(status=404)
        case "/old":
            took, answer = 0.2, Reply(status=301, headers=(("Location", "/about"),))
        case "/busy" if now < START + 100:
            took, answer = 0.2, Reply(status=503, headers=(("Retry-After", "120"),))
        case _:
            body = HOME if path == "/" else f"<p>The page {path}</p>".encode()
            html = (("Content-Type", "text/html"),)
            took, answer = 0.3, Reply(status=200, headers=html, body=body)
    return took, msgspec.structs.replace(answer, started_at=now, took=took)


def host_cells(row: HostRow, now: float) -> tuple[str, ...]:
    """Return a host's row as the tour shows it, without the first column."""
    lease, own = row.lease, row.of(DEFAULT_CRAWL)
    return (
        f"{now - START:.1f}",
        str(row.condition),
        str(own.new.ranks[0].cursor if own.new.ranks else 0),
        str(own.new.queued),
        f"`{lease.order}`" if lease.order else "none",
        f"{lease.done} of {lease.ordered}" if lease.order else "none",
        f"{max(0.0, row.ready_at - START):.1f}",
    )


def test_rows_of_the_host_in_the_tour_are_those_of_a_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl, rows = VirtualCrawl(tmp_path, museum), list[tuple[str, ...]]()
    update = Partition.update

    def recording(self: Partition, host: Any, *args: Any) -> None:
        update(self, host, *args)
        rows.append(host_cells(host.row, crawl.now))

    monkeypatch.setattr(Partition, "update", recording)
    crawl.define("https://www.museum.example/", revisit="fixed:1d", strategy="breadth")
    crawl.run(until=START + 1000)
    section = TOUR.partition("## The host's row on the way")[2].partition("\n## ")[0]
    shown = [line.strip("| ").split(" | ") for line in section.splitlines() if "| " in line]
    expected = [tuple(cells[1:]) for cells in shown if cells[1][0].isdigit()]
    assert len(expected) > 10
    remaining = iter(rows)
    assert [cells for cells in expected if cells not in remaining] == []
