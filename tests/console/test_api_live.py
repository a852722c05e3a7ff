"""Live data as server-sent events."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from gossamer import clock
from gossamer.console.api.live import MAX_ACTOR_STREAMS
from gossamer.console.api.tokens import Tokens, add_token
from gossamer.console.cli.main import main
from gossamer.events import DEFAULT_CRAWL
from gossamer.inspection.basics.folder import Folder
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.settings.api import Grant
from tests.console.served import TOKEN, serving
from tests.servers import free_ports

RUN = "import sys; from gossamer.console.cli.main import main; sys.exit(main(sys.argv[1:]))"
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


def admit(data: Path, urls: int) -> None:
    """Make this the number of admitted URLs."""
    opened = Folder(data).open()
    opened.store.table(TallyRow).put(TallyRow(DEFAULT_CRAWL, "0/4", admitted=urls))
    opened.store.flush()
    opened.database.close()


def test_changes_of_the_overview_are_sent(client: httpx.Client, data: Path) -> None:
    with client.stream("GET", LIVE) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        found = overviews(response)
        first = next(found)
        assert first["admitted"] == 0 and abs(first["at"] - clock.now()) < 600
        admit(data, 9)
        assert next(one for one in found if one["admitted"])["admitted"] == 9


def test_streams_of_one_actor_are_limited(client: httpx.Client) -> None:
    def begin(_: int) -> httpx.Response:
        return client.send(client.build_request("GET", LIVE), stream=True)

    with ThreadPoolExecutor(3 * MAX_ACTOR_STREAMS) as threads:
        responses = [*threads.map(begin, range(3 * MAX_ACTOR_STREAMS))]
    found = Counter(response.status_code for response in responses)
    assert found == {200: MAX_ACTOR_STREAMS, 503: 2 * MAX_ACTOR_STREAMS}
    assert "too many streams" in client.get(LIVE).text
    for response in responses:
        response.close()


def test_stream_of_several_crawls_is_refused_with_the_reason(
    client: httpx.Client, data: Path
) -> None:
    assert main(["seed", "--data", str(data), "--crawl", "news", "http://b.example/"]) == 0
    refused = client.get("/v1/live")
    assert refused.status_code == 400 and "default, news" in refused.text


def test_stream_needs_an_identity_and_a_known_topic(client: httpx.Client) -> None:
    assert client.get(LIVE, headers={"Authorization": "Bearer x"}).status_code == 401
    assert client.get(f"{LIVE}&topics=odd").status_code == 400


@pytest.mark.parametrize("entry", ["", '{}crawls = ["news"]\n'], ids=["revoked", "other crawl"])
def test_stream_ends_when_its_token_loses_the_crawl(data: Path, tmp_path: Path, entry: str) -> None:
    file = tmp_path / "tokens.toml"
    headers = {"Authorization": f"Bearer {add_token(file, 'ann', Grant('view'), None)}"}
    with (
        serving(data, Tokens(file)) as url,
        httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT) as client,
        client.stream("GET", LIVE) as response,
    ):
        found = overviews(response)
        assert next(found)["admitted"] == 0
        file.write_text(entry.format(file.read_text()))
        admit(data, 9)
        assert [*found] == []


def test_console_with_an_open_stream_stops_without_an_error(data: Path) -> None:
    port = free_ports(1)
    command = [sys.executable, "-c", RUN, "console", "--data", str(data), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as console:
        assert console.stdout and console.stderr
        while b"Ctrl-C stops" not in console.stdout.readline():
            pass
        headers = {"Authorization": f"Bearer {(data / 'console-token').read_text()}"}
        url = f"http://127.0.0.1:{port}{LIVE}"
        with httpx.stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
            found = overviews(response)
            assert next(found)["crawl"]
            console.send_signal(signal.SIGTERM)
            assert [*found] == []
        assert console.stderr.read() == b""
    assert console.returncode == 0
    assert not (data / "console-token").exists()


SLOW = """
import gossamer.console.api.routes.crawls as routes
from gossamer import clock

def read_without_end(_):
    print("reading", flush=True)
    while True:
        clock.pause(1.0)

routes.read_failure_groups = read_without_end
"""
"""Makes a read that never ends, in place of the one that reads whole tables."""


def test_console_stops_although_a_read_does_not_end(data: Path) -> None:
    """A thread cannot be interrupted, and an orchestrator kills a process that does not end."""
    port = free_ports(1)
    arguments = ["console", "--data", str(data), "--port", str(port)]
    with subprocess.Popen(
        [sys.executable, "-c", SLOW + RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as console:
        assert console.stdout and console.stderr
        while b"Ctrl-C stops" not in console.stdout.readline():
            pass
        headers = {"Authorization": f"Bearer {(data / 'console-token').read_text()}"}
        url = f"http://127.0.0.1:{port}/v1/crawls/default/failures"
        with ThreadPoolExecutor(1) as thread:
            found = thread.submit(httpx.get, url, headers=headers, timeout=TIMEOUT)
            try:
                assert console.stdout.readline() == b"reading\n"
                console.send_signal(signal.SIGTERM)
                console.wait(TIMEOUT)
                assert found.result().status_code == 503
                assert console.stderr.read() == b""
            finally:
                console.kill()
    assert console.returncode == 0
    assert not (data / "console-token").exists()
