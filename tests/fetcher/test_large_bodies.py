"""Large bodies are blobs, and a volume that cannot be written costs no page."""

from pathlib import Path

import pytest

from gossamer.events import Outcome
from gossamer.log.blobs import load
from gossamer.volumes import Volume
from tests.fetcher.orders import Emitted, fetcher, order, work
from tests.fetcher.servers import page, serving

LARGE = b"large " * 2000


async def fetch(volume: Volume, shown: list[str], *bodies: bytes) -> Emitted:
    """Return the events of one order, a page for each of *bodies*."""
    answers = {f"p{number}": page(body) for number, body in enumerate(bodies)}
    async with serving(**answers) as server, fetcher(tell=shown.append, volume=volume) as processor:
        return await work(processor, order(*(f"{server.root}/{name}" for name in answers)))


async def test_large_body_is_a_blob_and_small_body_is_not(tmp_path: Path) -> None:
    volume = Volume(tmp_path.as_uri())
    emitted = await fetch(volume, [], b"small", LARGE)
    small, large = emitted.pages
    assert (small.body, small.blob) == (b"small", None)
    assert large.body == b"" and large.blob
    loaded = load(large, volume)
    assert getattr(loaded, "body", None) == LARGE


@pytest.fixture
def full_volume(tmp_path: Path) -> Volume:
    """A volume in which nothing can be stored."""
    (tmp_path / "blobs").write_text("a file in place of the folder")
    return Volume((tmp_path / "blobs").as_uri())


async def test_unwritable_volume_returns_the_order_and_shows_it(full_volume: Volume) -> None:
    shown: list[str] = []
    emitted = await fetch(full_volume, shown, b"small", LARGE, b"later")
    assert [one.outcome for one in emitted.ended] == [Outcome.PAGE, Outcome.UNVISITED]
    assert [one.body for one in emitted.pages] == [b"small"], "small bodies go on"
    returned = emitted.ended[-1]
    assert returned.last and returned.started_at and returned.retry_after == 60.0
    assert "large body cannot be stored" in returned.reason
    assert "large bodies cannot be stored" in shown[-1]
