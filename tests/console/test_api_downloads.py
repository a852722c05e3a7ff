"""Downloads that their clients do not read, over real sockets."""

import random
import socket
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from gossamer.console.api import slow_clients
from gossamer.console.api.downloads import MAX_ACTOR_DOWNLOADS
from tests.console.archived import PAGE, Archived
from tests.console.served import TOKEN, serving
from tests.support.waiting import until

SIZE = 12 << 20
BODY = random.Random(1).randbytes(SIZE)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archived = Archived(tmp_path_factory.mktemp("downloads"))
    archived.add(PAGE, 1, BODY)
    return archived.end()


@contextmanager
def asking(url: str) -> Iterator[tuple[socket.socket, bytes]]:
    """Request the body; yield the connection and the first bytes of the response."""
    name, _, port = url.removeprefix("http://").partition(":")
    path = f"/v1/crawls/default/body?url={quote(PAGE, safe='')}"
    head = f"GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60.0)
        client.connect((name, int(port)))
        client.sendall(f"{head}Connection: close\r\n\r\n".encode())
        yield client, client.recv(64)


def read_rest(client: socket.socket) -> bytes:
    """Return what comes until the connection ends, however it ends."""
    found = bytearray()
    try:
        while piece := client.recv(1 << 16):
            found += piece
    except ConnectionResetError:
        pass
    return bytes(found)


def is_served(url: str) -> bool:
    """Return whether a download is complete."""
    with asking(url) as (client, start):
        return start.startswith(b"HTTP/1.1 200 ") and read_rest(client).endswith(BODY)


def test_unread_downloads_hold_no_body_in_memory_and_further_ones_are_refused(data: Path) -> None:
    with serving(data) as url:
        assert is_served(url)
        tracemalloc.start()
        try:
            with asking(url) as (_, first), asking(url) as (_, second):
                assert (first[:13], second[:13]) == (b"HTTP/1.1 200 ",) * MAX_ACTOR_DOWNLOADS
                assert tracemalloc.get_traced_memory()[0] < SIZE / 4
                with asking(url) as (client, refused):
                    text = refused + read_rest(client)
        finally:
            tracemalloc.stop()
        assert text.startswith(b"HTTP/1.1 429 ") and b"too many downloads at once" in text
        until(lambda: is_served(url), "the downloads of closed connections end")


def test_client_that_does_not_read_a_response_is_closed(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_clients, "READ_SECONDS", 0.2)
    with serving(data) as url, asking(url) as (one, _), asking(url) as (other, _):
        until(lambda: is_served(url), "the unread downloads end")
        for client in (one, other):
            assert len(read_rest(client)) < SIZE
