"""The server breaks answers as a world wants it, and records requests from start to end."""

import re
import socket
from collections.abc import Iterator

import pytest

from tests.synthweb import SynthWeb, World
from tests.synthweb.roles import cast

WORLD = World(seed=7, hosts=120, pages=5, slowness=0.01)
ANSWER_TIMEOUT = 20.0
TRIES = 5000
"""Each attempt is a new request; the server has long noticed the disconnection by then."""


@pytest.fixture(scope="module")
def web() -> Iterator[SynthWeb]:
    with SynthWeb(WORLD) as running:
        yield running


def host_with(oddity: str) -> str:
    roles = cast(WORLD)
    numbers = [n for n, kind in roles.conditions.items() if kind == oddity]
    numbers += [n for n, kinds in roles.features.items() if oddity in kinds]
    return roles.names[min(numbers)]


def open_get(web: SynthWeb, oddity: str) -> socket.socket:
    """Return a connection on which a page with *oddity* was just requested."""
    connection = socket.create_connection(("127.0.0.1", web.port), ANSWER_TIMEOUT)
    head = f"GET /odd/{oddity} HTTP/1.1\r\nHost: {host_with(oddity)}:{web.port}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def raw_get(web: SynthWeb, oddity: str) -> bytes:
    """Return all bytes until the server closes the connection."""
    with open_get(web, oddity) as connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_broken_answers_are_broken(web: SynthWeb) -> None:
    assert raw_get(web, "empty") == b""
    assert not raw_get(web, "garbage").startswith(b"HTTP/")
    assert not raw_get(web, "short").endswith(b"0\r\n\r\n")
    for oddity, sent in (("cut", 0.5), ("overlong", 2.0)):
        head, _, body = raw_get(web, oddity).partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        assert length and len(body) == pytest.approx(int(length[1]) * sent, abs=2)


@pytest.mark.parametrize("oddity", ["endless", "mute"])
def test_request_is_on_record_from_its_head_to_the_disconnection(
    web: SynthWeb, oddity: str
) -> None:
    url = f"http://{host_with(oddity)}:{web.port}/odd/{oddity}"
    with open_get(web, oddity) as connection:
        assert any(url in web.under_way() for _ in range(TRIES))
        if oddity == "endless":
            assert sum(len(connection.recv(65536)) for _ in range(20)) > 20
        assert url not in {request.url for request in web.requests()}
    ended = (request for _ in range(TRIES) for request in web.requests() if request.url == url)
    assert next(ended).status == (200 if oddity == "endless" else 0)
    assert url not in web.under_way()
