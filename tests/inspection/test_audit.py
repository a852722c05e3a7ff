"""Pages of the audit log: each change once, the newest first, and few records read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import ChangeRecorded
from gossamer.inspection.crawls import audit
from gossamer.inspection.crawls.audit import ChangeFilter, read_changes, search_changes
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore

ALL = ChangeFilter()
CHANGE = ChangeRecorded(at=1.0, id="", actor="ann", source="api", action="block")


def audited(*changes: tuple[int, int, str]) -> OpenCrawl:
    """Return a crawl with changes: partition, milliseconds of the id, action."""
    database = Database(Path(":memory:"))
    log = SqliteLog(database)
    for number, (partition, at, action) in enumerate(changes):
        change = replace(CHANGE, id=f"{at:012x}-{number:08x}", action=action)
        message = encode(change)
        log.append([type(message)(message.topic, message.key, message.value, "", (), partition)])
    return OpenCrawl("data", log, lambda: SqliteStore(database))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.sampled_from(["block", "speed"]))),
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from(["", "block", "retry"]),
)
def test_pages_have_each_chosen_change_once(
    changes: list[tuple[int, int, str]], limit: int, most: int, action: str
) -> None:
    """The clocks of operators differ, so ids may be out of order."""
    crawl, chosen = audited(*changes), ChangeFilter(action=action)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(audit, "MAX_READ_CHANGES", most)
        found, cursor = list[str](), None
        while True:
            page = read_changes(crawl, chosen, cursor, limit)
            assert len(page.items) <= limit and page.is_partial == (
                page.next is not None and len(page.items) < limit
            )
            found += [change.id for change in page.items]
            if (cursor := page.next) is None:
                break
        searched = search_changes(crawl, chosen, 1000)
    assert len(found) == len({*found}) == sum(one in (action or one) for _, _, one in changes)
    assert sorted(found) == sorted(change.id for change in searched.items)
    assert not searched.is_partial


def test_newest_change_is_first() -> None:
    crawl = audited(*((0, at, "block") for at in range(250)))
    first = read_changes(crawl, ALL, limit=100)
    rest = read_changes(crawl, ALL, first.next, limit=200)
    found = [change.id for change in (*first.items, *rest.items)]
    assert found == sorted(found, reverse=True) and len(found) == 250 and rest.next is None
