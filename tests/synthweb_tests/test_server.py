"""The bytes that the server sends, over sockets."""

import re
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.synthweb import SynthWeb
from tests.synthweb.client import ROOT
from tests.synthweb.record import Request
from tests.synthweb.robots import MOVED, ROBOTS
from tests.synthweb.truth import spot_of
from tests.synthweb_tests.talk import get, open_get, raw_get

TRIES = 5000
"""Each attempt is a new request; the server has long noticed the disconnection by then."""

WAITING_CLIENT = """
import socket, sys
port, host = sys.argv[1:]
asking = socket.create_connection(("127.0.0.1", int(port)))
asking.sendall(f"GET /odd/mute HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
print("sent", flush=True)
asking.recv(1)
"""
"""A client to be killed while it waits."""


def host_with(web: SynthWeb, oddity: str) -> str:
    roles = web.atlas.roles
    numbers = [n for n, kind in roles.conditions.items() if kind == oddity]
    numbers += [n for n, kinds in roles.features.items() if oddity in kinds]
    return roles.names[min(numbers)]


def odd(web: SynthWeb, oddity: str) -> bytes:
    return raw_get(web.port, host_with(web, oddity), f"/odd/{oddity}")


def await_record(web: SynthWeb, host: str, path: str) -> list[Request]:
    return [one for one in web.requests() if (one.host, one.path) == (host, path)]


def test_connection_serves_many_hosts_and_all_requests_are_recorded(web: SynthWeb) -> None:
    connection = HTTPConnection("127.0.0.1", web.port)
    before = len(web.requests())
    names = web.atlas.roles.names[:2]
    for name in names:
        headers = {"Host": f"{name}:{web.port}", "User-Agent": "g/1", "From": "me@a.test"}
        connection.request("GET", "/nothing?a=b", headers=headers)
        assert connection.getresponse().read()
    connection.close()
    first, second = web.requests()[before:]
    assert (first.host, second.host) == tuple(names)
    assert first.conn == second.conn
    assert first.at <= first.ended <= second.at
    assert first.url == f"http://{names[0]}:{web.port}/nothing?a=b"
    assert (first.path, first.status) == ("/nothing?a=b", 404)
    assert (first.agent, first.sender) == ("g/1", "me@a.test")


def test_request_is_running_from_its_head_to_its_end(web: SynthWeb) -> None:
    host = host_with(web, "mute")
    url = f"http://{host}:{web.port}/odd/mute"
    before = web.under_way().count(url)
    with open_get(web.port, host, "/odd/mute"):
        assert any(web.under_way().count(url) > before for _ in range(TRIES))
    assert any(web.under_way().count(url) == before for _ in range(TRIES))


def test_each_seed_answers(web: SynthWeb) -> None:
    for seed in web.seeds:
        host, path = spot_of(web.atlas, seed)
        response, body = get(web.port, web.atlas.roles.names[host], path)
        assert response.status == 200
        assert response.getheader("Content-Type") == "text/html; charset=utf-8"
        assert b"<title>" in body and b'lang="en"' in body


@pytest.mark.parametrize(("oddity", "status"), [("503", 503), ("429", 429)])
def test_retry_after_is_sent_once(web: SynthWeb, oddity: str, status: int) -> None:
    host = host_with(web, oddity)
    first, _ = get(web.port, host, f"/odd/{oddity}")
    second, body = get(web.port, host, f"/odd/{oddity}")
    assert (first.status, first.getheader("Retry-After")) == (status, "1")
    assert second.status == 200 and f"/beyond/{oddity}".encode() in body


@pytest.mark.parametrize("status", [404, 410, 500, 403])
def test_error_pages_link_to_lures(web: SynthWeb, status: int) -> None:
    response, body = get(web.port, host_with(web, str(status)), f"/odd/{status}")
    assert response.status == status and f"/lure/{status}".encode() in body


@pytest.mark.parametrize("oddity", ["301", "302", "307", "308", "away", "loop", "nowhere"])
def test_redirects_have_their_locations(web: SynthWeb, oddity: str) -> None:
    response, _ = get(web.port, host_with(web, oddity), f"/odd/{oddity}")
    assert str(response.status) in (oddity, "302")
    assert (response.getheader("Location") is None) == (oddity == "nowhere")


def test_transfer_codings_are_decodable(web: SynthWeb) -> None:
    slow, _ = get(web.port, host_with(web, "slow"), "/odd/slow")
    chunked, body = get(web.port, host_with(web, "chunked"), "/odd/chunked")
    packed, gzipped = get(web.port, host_with(web, "gzip"), "/odd/gzip")
    assert slow.status == 200
    assert chunked.getheader("Transfer-Encoding") == "chunked" and body.endswith(b"</html>\n")
    assert packed.getheader("Content-Encoding") == "gzip" and gzipped[:2] == b"\x1f\x8b"


def test_broken_answers_are_broken(web: SynthWeb) -> None:
    assert odd(web, "empty") == b""
    assert not odd(web, "garbage").startswith(b"HTTP/")
    assert not odd(web, "short").endswith(b"0\r\n\r\n")
    for oddity, sent in (("cut", 0.5), ("overlong", 2.0)):
        head, _, body = odd(web, oddity).partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        assert length and len(body) == pytest.approx(int(length[1]) * sent, abs=2)


@pytest.mark.parametrize("oddity", ["endless", "mute"])
def test_endless_answer_is_recorded_at_the_disconnection(web: SynthWeb, oddity: str) -> None:
    host, path = host_with(web, oddity), f"/odd/{oddity}"
    connection = open_get(web.port, host, path)
    if oddity == "endless":
        assert sum(len(connection.recv(65536)) for _ in range(20)) > 20
    connection.close()
    found = next(filter(None, (await_record(web, host, path) for _ in range(TRIES))))
    assert found[-1].status == (200 if oddity == "endless" else 0)


def test_request_of_a_killed_client_is_recorded(web: SynthWeb) -> None:
    host = host_with(web, "mute")
    before = len(await_record(web, host, "/odd/mute"))
    command = [sys.executable, "-c", WAITING_CLIENT, str(web.port), host]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
        assert client.stdout and client.stdout.readline() == b"sent\n"
        client.kill()
    counts = (len(await_record(web, host, "/odd/mute")) for _ in range(TRIES))
    assert next(count for count in counts if count > before) == before + 1


def test_pages_have_their_encodings(web: SynthWeb) -> None:
    _, latin = get(web.port, host_with(web, "latin-1"), "/odd/latin-1")
    japanese, sjis = get(web.port, host_with(web, "shift_jis"), "/odd/shift_jis")
    windows, smart = get(web.port, host_with(web, "windows-1252"), "/odd/windows-1252")
    assert "crème brûlée" in latin.decode("iso-8859-1")
    assert "日本語" in sjis.decode("shift_jis")
    assert japanese.getheader("Content-Type") == "text/html; charset=shift_jis"
    assert windows.getheader("Content-Type") == "text/html"
    assert b'<meta charset="windows-1252"' in smart and b"\x93Smart quotes\x94" in smart


def test_other_types_have_their_content(web: SynthWeb) -> None:
    starts = {"png": b"\x89PNG", "pdf": b"%PDF-1.4", "text": b"", "xhtml": b"<?xml"}
    for oddity, start in starts.items():
        response, body = get(web.port, host_with(web, oddity), f"/odd/{oddity}")
        assert oddity in (response.getheader("Content-Type") or "").replace("plain", "text")
        assert body.startswith(start)


def test_robots_txt_is_served(web: SynthWeb) -> None:
    statuses = {"failing": 500, "denied": 403, "moved": 301, "empty": 200, "bom": 200}
    for kind, status in statuses.items():
        response, body = get(web.port, host_with(web, f"robots-{kind}"), ROBOTS)
        assert response.status == status
        assert body.startswith(b"\xef\xbb\xbf") == (kind == "bom")
    moved, text = get(web.port, host_with(web, "robots-moved"), MOVED)
    assert moved.status == 200 and b"Disallow: /private/" in text
    _, text = get(web.port, host_with(web, "robots-delay"), ROBOTS)
    assert b"Crawl-delay: 0.4" in text
    assert get(web.port, web.atlas.roles.names[0], ROBOTS)[0].status == 404


def test_invalid_request_closes_only_its_connection(web: SynthWeb) -> None:
    with open_get(web.port, "no such\r\nhost", "/ too many words") as connection:
        assert connection.recv(1) == b""
    assert get(web.port, web.atlas.roles.names[0], "/")[0].status == 200


def test_server_stops_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.synthweb", "--hosts=5", f"--record={tmp_path}"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline().startswith(b'{"http": ')
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
