"""Credentials and proxies of hosts, over real sockets; secrets are redacted."""

import asyncio
import contextlib
import logging
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

from gossamer.errors import BadSettings
from gossamer.events import HostOverridden, Outcome
from gossamer.services.fetcher.access import parse_access_file, redact
from gossamer.services.fetcher.http.proxies import read_access_file
from tests.fetcher.orders import fetcher, order, run_order, visit_pages, work
from tests.fetcher.servers import Answer, Server, page, serving, serving_over
from tests.fetcher.test_tls import authority as authority
from tests.fetcher.test_tls import certified_context

PASSWORD = "Pa55-w0rd"
BASIC = "Basic " + b64encode(f"me:{PASSWORD}".encode()).decode()
LOGIN = f'user = "me"\npassword = "{PASSWORD}"\n'


def write_access_file(folder: Path, text: str) -> Path:
    file = folder / "access.toml"
    file.write_text(text)
    return file


async def require_login(server: Server, writer: asyncio.StreamWriter) -> bool:
    known = server.requests[-1].header("Authorization") == BASIC
    answer = page(b"<p>welcome") if known else page(b"", 401, WWW_Authenticate="Basic realm=x")
    return await answer(server, writer)


async def test_credentials_are_sent_only_to_their_host(tmp_path: Path) -> None:
    async with serving(a=require_login) as one, serving(a=require_login) as other:
        file = write_access_file(
            tmp_path, f'["{one.root}"]\n{LOGIN}headers = {{ "X-Api-Key" = "k3y" }}'
        )
        mine = await run_order(f"{one.root}/a", access_file=file)
        others = await run_order(f"{other.root}/a", access_file=file)
        assert one.requests[0].header("X-Api-Key") == "k3y"
        assert PASSWORD not in other.requests[0].head and BASIC not in other.requests[0].head
    assert (mine.outcomes, others.outcomes) == (["page"], ["client_error"])


async def test_secrets_of_the_access_file_are_in_no_record_and_no_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = 'headers = { "X-Api-Key" = "k3y", Accept-Language = "de" }'
    async with serving(
        a=require_login, b=lambda server, writer: close_connection(writer)
    ) as server:
        file = write_access_file(tmp_path, f'["{server.root}"]\n{LOGIN}{headers}')
        emitted = await run_order(f"{server.root}/a", f"{server.root}/b", access_file=file)
    sent = dict(emitted.pages[0].request_headers)
    assert (sent["Authorization"], sent["X-Api-Key"]) == ("redacted", "redacted")
    assert sent["Accept-Language"] == "de"
    printed = capsys.readouterr()
    told = f"{emitted.calls!r} {printed.out} {printed.err} {caplog.text}"
    assert not any(secret in told for secret in (PASSWORD, BASIC, "k3y"))


async def close_connection(writer: asyncio.StreamWriter) -> bool:
    return False


@dataclass
class Proxy:
    """A forward proxy: it fetches http URLs, and connects to https hosts."""

    refuses: bytes = b""
    """The response in place of a correct one."""
    port: int = 0
    heads: list[str] = field(default_factory=list)
    open: set["asyncio.Task[None]"] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(asyncio.create_task(self._handle(reader, writer)))

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            if self.refuses:
                writer.write(self.refuses)
            else:
                await self._serve(head, reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _serve(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        server = head.split(" ", 2)[1].removeprefix("http://").split("/")[0]
        port = int(server.rpartition(":")[2])
        back, upstream = await asyncio.open_connection("127.0.0.1", port)
        answers = asyncio.create_task(pipe(back, writer))
        try:
            if head.startswith("CONNECT "):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await pipe(reader, upstream)
                return
            while True:
                upstream.write(head.replace(f"http://{server}", "", 1).encode())
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.heads.append(head)
        finally:
            upstream.close()
            await answers


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)


@asynccontextmanager
async def proxying(proxy: Proxy) -> AsyncIterator[Proxy]:
    listener = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await asyncio.gather(*proxy.open)


def through(proxy: Proxy, folder: Path, host: str = "*", server: str = "127.0.0.1") -> Path:
    return write_access_file(
        folder, f'["{host}"]\nproxy = "http://me:{PASSWORD}@{server}:{proxy.port}"'
    )


@pytest.mark.parametrize("server", ["127.0.0.1", "localhost"])
async def test_host_without_address_is_visited_through_its_proxy(
    server: str, tmp_path: Path
) -> None:
    async with serving(a=page(b"<p>inside"), b=page()) as there, proxying(Proxy()) as proxy:
        root = f"http://inside.invalid:{there.port}"
        file = through(proxy, tmp_path, root, server)
        urls = f"{root}/a?x=1", f"{root}/b"
        emitted = await run_order(*urls, access_file=file, allow_networks=())
        assert there.paths == ["/a?x=1", "/b"]
    assert emitted.outcomes == ["gone", "page"]
    assert proxy.heads[0].startswith(f"GET {root}/a?x=1 HTTP/1.1\r\n")
    assert f"Proxy-Authorization: {BASIC}" in proxy.heads[0]
    assert {one.address for one in emitted.pages} == {""}
    assert PASSWORD not in repr(emitted.calls) and BASIC not in repr(emitted.calls)


async def test_tls_is_tunnelled_through_the_proxy(authority: trustme.CA, tmp_path: Path) -> None:
    async with (
        serving_over(
            certified_context(authority, "inside.invalid"), a=page(b"<p>inside"), b=page()
        ) as there,
        proxying(Proxy()) as proxy,
    ):
        root = f"https://inside.invalid:{there.port}"
        file = through(proxy, tmp_path)
        emitted = await run_order(f"{root}/a", f"{root}/b", access_file=file)
        assert len(there.requests) == 2 and len(proxy.heads) == 1
    assert emitted.outcomes == ["page", "page"]
    assert proxy.heads[0].startswith(f"CONNECT inside.invalid:{there.port} HTTP/1.1\r\n")
    assert "Proxy-Authorization" not in dict(emitted.pages[0].request_headers)


async def test_invalid_certificate_behind_a_proxy_is_a_tls_failure(
    authority: trustme.CA, tmp_path: Path
) -> None:
    context = certified_context(authority, "other.invalid")
    async with serving_over(context, a=page()) as there, proxying(Proxy()) as proxy:
        url = f"https://inside.invalid:{there.port}/a"
        emitted = await run_order(url, access_file=through(proxy, tmp_path))
    assert emitted.one.outcome is Outcome.TLS_FAILURE
    assert "the certificate is not trusted: Hostname mismatch" in emitted.one.reason


@pytest.mark.parametrize("certificates", ["verify", "record"])
async def test_invalid_certificate_behind_a_proxy_is_recorded(
    certificates: str, tmp_path: Path
) -> None:
    context = certified_context(trustme.CA(), "inside.invalid")
    async with serving_over(context, a=page()) as there, proxying(Proxy()) as proxy:
        root = f"https://inside.invalid:{there.port}"
        file = write_access_file(
            tmp_path,
            f'["{root}"]\nproxy = "http://127.0.0.1:{proxy.port}"\nuser = "u"\npassword = "p"',
        )
        emitted = await run_order(f"{root}/a", access_file=file, certificates=certificates)
        assert not any(request.header("Authorization") for request in there.requests)
    expected = {"verify": Outcome.TLS_FAILURE, "record": Outcome.PAGE}
    assert emitted.one.outcome is expected[certificates]
    assert "unable to get local issuer certificate" in emitted.one.reason


async def test_pinned_certificate_is_the_only_one_behind_a_proxy(tmp_path: Path) -> None:
    context = certified_context(trustme.CA(), "inside.invalid")
    async with serving_over(context, a=page()) as there, proxying(Proxy()) as proxy:
        url = f"https://inside.invalid:{there.port}/a"
        async with fetcher(access_file=through(proxy, tmp_path)) as processor:
            pin = HostOverridden(at=1.0, host="inside.invalid", certificate=f"sha256:{'0' * 64}")
            processor.control(pin)
            emitted = await work(processor, order(url))
        assert there.requests == []
    assert emitted.one.outcome is Outcome.TLS_FAILURE
    assert "not the one that is pinned" in emitted.one.reason


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n", "it refuses the password"),
        (b"nonsense\r\n\r\n", "failed: "),
        (b"", "Connect call failed"),
    ],
)
async def test_failing_proxy_is_a_local_fault_or_fails_its_host(
    answer: bytes, why: str, tmp_path: Path
) -> None:
    async with proxying(Proxy(answer)) as proxy:
        pass_on = proxy if answer else Proxy(port=1)
        for host in ("*", "https://a.invalid"):
            file = through(pass_on, tmp_path, host)
            async with fetcher(access_file=file) as processor:
                emitted = await work(processor, order("https://a.invalid/"))
                paused = processor.backoff.is_active(0.0)
            ended = emitted.one
            assert paused is (host == "*")
            assert ended.outcome is (Outcome.UNVISITED if host == "*" else Outcome.HOST_DOWN)
            assert f"the proxy 127.0.0.1:{pass_on.port}" in ended.reason and why in ended.reason
            assert PASSWORD not in ended.reason


async def test_host_that_the_proxy_cannot_reach_is_down(tmp_path: Path) -> None:
    async with proxying(Proxy(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")) as proxy:
        emitted = await run_order("https://a.invalid/", access_file=through(proxy, tmp_path))
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.HOST_DOWN, ("host_down",))
    assert "cannot connect to the host: 502" in emitted.one.reason


@dataclass
class Socks(Proxy):
    """A SOCKS 5 proxy (RFC 1928, 1929) that resolves names itself."""

    asked: list[tuple[str, int]] = field(default_factory=list)
    users: list[bytes] = field(default_factory=list)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            _, methods = await reader.readexactly(2)
            assert 2 in await reader.readexactly(methods)
            writer.write(b"\x05\x02")
            _, length = await reader.readexactly(2)
            user = await reader.readexactly(length)
            (length,) = await reader.readexactly(1)
            self.users.append(user + b":" + await reader.readexactly(length))
            writer.write(b"\x01\x00")
            *_, kind, length = await reader.readexactly(5)
            assert kind == 3, "a name"
            name = (await reader.readexactly(length)).decode()
            port = int.from_bytes(await reader.readexactly(2))
            self.asked.append((name, port))
            writer.write(self.refuses or b"\x05\x00\x00\x01" + bytes(6))
            if not self.refuses:
                await self._pass_on(port, reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _pass_on(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        back, upstream = await asyncio.open_connection("127.0.0.1", port)
        answers = asyncio.create_task(pipe(back, writer))
        await pipe(reader, upstream)
        upstream.close()
        await answers


def through_socks(proxy: Proxy, folder: Path) -> Path:
    return write_access_file(
        folder, f'["*"]\nproxy = "socks5://me:{PASSWORD}@127.0.0.1:{proxy.port}"'
    )


@pytest.mark.parametrize("secured", [False, True], ids=["http", "https"])
async def test_socks_proxy_resolves_the_name_of_the_host(
    secured: bool, authority: trustme.CA, tmp_path: Path
) -> None:
    context = certified_context(authority, "inside.invalid") if secured else None
    async with (
        serving_over(context, a=page(b"<p>inside"), b=page()) as there,
        proxying(Socks()) as proxy,
    ):
        root = f"{there.scheme}://inside.invalid:{there.port}"
        file = through_socks(proxy, tmp_path)
        emitted = await run_order(f"{root}/a", f"{root}/b", access_file=file)
    assert emitted.outcomes == ["page", "page"]
    assert isinstance(proxy, Socks)
    assert proxy.asked == [("inside.invalid", there.port)], "one connection, which is kept"
    assert proxy.users == [f"me:{PASSWORD}".encode()]
    assert emitted.pages[0].address == ""


async def test_host_that_a_socks_proxy_cannot_reach_is_down(tmp_path: Path) -> None:
    async with proxying(Socks(b"\x05\x05\x00\x01" + bytes(6))) as proxy:
        emitted = await run_order("https://a.invalid/", access_file=through_socks(proxy, tmp_path))
    assert emitted.one.outcome is Outcome.HOST_DOWN
    assert "cannot connect to the host" in emitted.one.reason
    assert PASSWORD not in emitted.one.reason


async def test_unreachable_socks_proxy_is_a_local_fault(tmp_path: Path) -> None:
    file = through_socks(Proxy(port=1), tmp_path)
    emitted = await run_order("https://a.invalid/", access_file=file)
    assert emitted.one.outcome is Outcome.UNVISITED
    assert "the proxy 127.0.0.1:1 failed: " in emitted.one.reason


async def test_private_address_is_not_requested_through_a_proxy(tmp_path: Path) -> None:
    async with proxying(Proxy()) as proxy:
        file = through(proxy, tmp_path)
        url = "http://169.254.169.254/latest/meta-data/"
        emitted = await run_order(url, access_file=file, allow_networks=())
    assert (emitted.outcomes, proxy.heads) == (["private_address"], [])


async def test_proxies_of_environment_and_responses_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with proxying(Proxy()) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        answer: Answer = page(b"", 305, Location=f"http://127.0.0.1:{proxy.port}/")
        _, emitted = await visit_pages(a=answer, b=page())
    assert (emitted.outcomes, proxy.heads) == (["bad_redirect", "page"], [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "at end of document"),
        ('["example.org"]', "is neither a host"),
        ('["https://example.org/"]', "is neither a host"),
        ('["HTTPS://example.org"]', "is neither a host"),
        ('["https://a.org"]\npasword = "s3cret"', "unknown field `pasword`"),
        ('["https://a.org"]\nuser = "a:b"', "not contain a colon"),
        ('["https://a.org"]\nheaders = { User-Agent = "s3cret" }', "'User-Agent' cannot be set"),
        ('["https://a.org"]\nheaders = { "X y" = "s3cret" }', "'X y' cannot be set"),
        ('["https://a.org"]\nheaders = { X = "s3cret\\r\\nY: z" }', "'X' cannot be set"),
        ('["https://a.org"]\nheaders = { X = "1", x = "2" }', "set twice"),
        ('["https://a.org"]\nproxy = "socks4://s3cret@127.0.0.1:1080"', "the proxy must be"),
        ('["https://a.org"]\nproxy = "https://s3cret@127.0.0.1:1080"', "the proxy must be"),
        ('["https://a.org"]\nproxy = "http://127.0.0.1:99999"', "the proxy must be"),
        ('["*"]\nuser = "s3cret"', "cannot be set for all hosts"),
        ('["*"]\nheaders = { X-Api-Key = "s3cret" }', "cannot be set for all hosts"),
    ],
)
def test_invalid_access_file_is_refused_without_showing_secrets(text: str, why: str) -> None:
    with pytest.raises(BadSettings) as caught:
        parse_access_file(text)
    assert why in str(caught.value) and "fetcher.access_file" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_unreadable_access_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"fetcher\.access_file: .* cannot be read"):
        read_access_file(tmp_path / "nowhere")


def test_access_is_in_no_repr_and_is_redacted() -> None:
    said = parse_access_file(f'["http://a.org"]\n{LOGIN}proxy = "http://u:{PASSWORD}@p:1"')
    assert PASSWORD not in repr(said) and BASIC not in repr(said)
    [access] = said.values()
    assert redact((("AUTHORIZATION", BASIC), ("Host", "a.org")), access) == (
        ("AUTHORIZATION", "redacted"),
        ("Host", "a.org"),
    )
