"""Live data as server-sent events."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from console.api.live import MAX_ACTOR_STREAMS
from console.cli.main import main
from gossamer.events import DEFAULT_CRAWL
from inspection.folder import Folder
from services.frontier.rows import TallyRow
from tests.console.served import TOKEN, serving

TIMEOUT = 60.0
LIVE = "/v1/live?crawl=default"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the folder of a crawl."""
    folder = tmp_path / "data"
    assert main(["seed", "--data", str(folder), "http://a.example/"]) == 0
    return folder


@pytest.fixture
def client(data: Path) -> Iterator[httpx.Client]:
    """Return a client of a server for the folder."""
    with serving(data) as url, httpx.Client(base_url=url, headers=HEADERS, timeout=TIMEOUT) as one:
        yield one


def overviews(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yield the overviews of a stream."""
    for before, line in pairwise(response.iter_lines()):
        if before == "event: overview" and line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_changes_of_the_overview_are_sent(client: httpx.Client, data: Path) -> None:
    with client.stream("GET", LIVE) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        found = overviews(response)
        assert next(found)["admitted"] == 0
        opened = Folder(data).open()
        opened.store.table(TallyRow).put(TallyRow(DEFAULT_CRAWL, "0/4", admitted=9))
        opened.store.flush()
        opened.database.close()
        assert next(one for one in found if one["admitted"])["admitted"] == 9


def test_streams_of_one_actor_are_limited(client: httpx.Client) -> None:
    opened = [client.build_request("GET", LIVE) for _ in range(MAX_ACTOR_STREAMS)]
    responses = [client.send(request, stream=True) for request in opened]
    found = [overviews(response) for response in responses]
    assert all(next(one)["crawl"] for one in found)  # Each stream has begun.
    refused = client.get(LIVE)
    assert refused.status_code == 503 and "too many streams" in refused.text
    for response in responses:
        response.close()


def test_stream_needs_an_identity_and_a_known_topic(client: httpx.Client) -> None:
    assert client.get(LIVE, headers={"Authorization": "Bearer x"}).status_code == 401
    assert client.get(f"{LIVE}&topics=odd").status_code == 400
