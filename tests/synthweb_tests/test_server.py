"""The odd answers of a world are as odd as they claim: a crawl would pass over sound ones, too."""

import gzip
import re
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.synthweb import SynthWeb, World
from tests.synthweb.answers import Answer, Answers
from tests.synthweb.atlas import Atlas
from tests.synthweb.oddities import CONDITIONS, FEATURES
from tests.synthweb.robots import ROBOTS
from tests.synthweb.roles import cast

WORLD = World(seed=7, hosts=120, pages=5, slowness=0.01)
ANSWER_TIMEOUT = 20.0
TRIES = 5000
"""Each attempt is a new request; the server has long noticed the disconnection by then."""
ODD: dict[str, Callable[[Answer], bool]] = {
    **{kind: lambda answer: b"/lure/" in answer.body for kind in ("404", "410", "500", "403")},
    **{kind: lambda answer: b"/lure/" in answer.body for kind in FEATURES["nofollows"]},
    "gzip": lambda answer: gzip.decompress(answer.body).endswith(b"</html>\n"),
    "latin-1": lambda answer: "crème brûlée" in answer.body.decode("iso-8859-1"),
    "shift_jis": lambda answer: "日本語" in answer.body.decode("shift_jis"),
    "windows-1252": lambda answer: (
        b"\x93Smart quotes\x94" in answer.body
        and b'<meta charset="windows-1252"' in answer.body
        and answer.headers["Content-Type"] == "text/html"
    ),
    "xhtml": lambda answer: answer.body.startswith(b"<?xml"),
    "png": lambda answer: answer.body.startswith(b"\x89PNG"),
    "pdf": lambda answer: answer.body.startswith(b"%PDF-1.4"),
}
"""Oddity → whether an answer has it."""


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


def test_each_option_adds_all_of_its_kinds() -> None:
    roles = cast(WORLD)
    conditions = {kind for kinds in CONDITIONS.values() for kind in kinds}
    features = {kind for kinds in FEATURES.values() for kind in kinds}
    assert set(roles.conditions.values()) == conditions
    assert {kind for kinds in roles.features.values() for kind in kinds} == features


@pytest.mark.parametrize("oddity", ODD)
def test_odd_page_has_its_oddity(oddity: str) -> None:
    assert ODD[oddity](Answers(Atlas(WORLD, 80)).to(host_with(oddity), f"/odd/{oddity}"))


def test_retry_after_is_sent_once() -> None:
    answers = Answers(Atlas(WORLD, 80))
    for status in ("503", "429"):
        first, second = (answers.to(host_with(status), f"/odd/{status}") for _ in range(2))
        assert (str(first.status), first.headers["Retry-After"]) == (status, "1")
        assert second.status == 200 and f"/beyond/{status}".encode() in second.body


def test_robots_txt_has_its_mark_and_its_status() -> None:
    answers = Answers(Atlas(WORLD, 80))
    for kind, status in {"failing": 500, "denied": 403, "moved": 301, "bom": 200}.items():
        answer = answers.to(host_with(f"robots-{kind}"), ROBOTS)
        assert answer.status == status
        assert answer.body.startswith(b"\xef\xbb\xbf") == (kind == "bom")


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


def test_hosts_may_share_their_addresses() -> None:
    addresses = World.plain(hosts=5, crowd=2).open(80).addresses.values()
    assert [str(address) for address in addresses] == [f"127.1.0.{n}" for n in (0, 0, 1, 1, 2)]
