"""Signed requests over real sockets: a server with an independent verifier checks each hop."""

import datetime
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from http_message_signatures import (
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    algorithms,
)
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import Outcome, Purpose
from gossamer.services.fetcher.http.signing import read_signing_keys
from gossamer.services.fetcher.outcome import Reply, assess
from gossamer.settings import FetcherSettings
from gossamer.web.signatures import SigningKey
from gossamer.web.signing import REQUEST_TAG
from tests.fetcher.orders import order, run_order

AGENT = "https://bot.example"
ACCEPT_SIGNATURE = 'sig1=("@authority" "signature-agent";key="sig1");created;tag="web-bot-auth"'


def write_key(folder: Path, name: str = "key.json", mode: int = 0o600) -> SigningKey:
    key = SigningKey.generate()
    file = folder / name
    file.write_text(json.dumps(key.private_jwk()))
    file.chmod(mode)
    return key


class Keys(HTTPSignatureKeyResolver):
    def __init__(self, key: SigningKey) -> None:
        self.key = key

    def resolve_public_key(self, key_id: str) -> Any:
        if key_id != self.key.thumbprint:
            raise InvalidSignature("unknown key")
        return self.key.public.key

    def resolve_private_key(self, key_id: str) -> Any:
        raise NotImplementedError


class VerifyingServer:
    """Verifies the signature of each request; `/secret` is closed without one."""

    def __init__(self, key: SigningKey) -> None:
        self.verifier = HTTPMessageVerifier(
            signature_algorithm=algorithms.ED25519, key_resolver=Keys(key)
        )
        self.root = ""
        self.requests: list[tuple[str, bool]] = []
        """Path, and whether the signature is valid."""
        self.nonces: list[str] = []
        self.agents = set[str]()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        signed = self.is_signed(request)
        self.requests.append((request.path, signed))
        match request.path:
            case "/robots.txt":
                raise web.HTTPFound("/robots-2.txt")
            case "/robots-2.txt":
                return web.Response(text="User-agent: *\nAllow: /\n")
            case "/wall" if "seen" not in request.cookies:
                answer = web.HTTPFound("/wall")
                answer.set_cookie("seen", "1")
                raise answer
            case "/secret" if not signed:
                return web.Response(status=403, headers={"Accept-Signature": ACCEPT_SIGNATURE})
        return web.Response(text="<p>hello", content_type="text/html")

    def is_signed(self, request: web.Request) -> bool:
        if "Signature" not in request.headers:
            return False
        message = SimpleNamespace(
            method=request.method, url=str(request.url), headers=dict(request.headers)
        )
        [found] = self.verifier.verify(
            message, expect_tag=REQUEST_TAG, max_age=datetime.timedelta(minutes=1)
        )
        self.nonces.append(str(found.parameters["nonce"]))
        self.agents.add(request.headers["Signature-Agent"])
        return True


@asynccontextmanager
async def serving(key: SigningKey) -> AsyncIterator[VerifyingServer]:
    server = VerifyingServer(key)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("form", "agent"), [("dictionary", f'sig1="{AGENT}"'), ("string", f'"{AGENT}"')]
)
async def test_each_hop_has_a_new_valid_signature(tmp_path: Path, form: str, agent: str) -> None:
    key = write_key(tmp_path)
    changes: dict[str, Any] = {
        "sign": "always",
        "signing_keys": tmp_path,
        "signature_agent": AGENT,
        "signature_agent_form": form,
    }
    async with serving(key) as server:
        robots = order(f"{server.root}/robots.txt", purpose=Purpose.ROBOTS, robots=None)
        emitted = await run_order(given=robots, **changes)
        assert emitted.one.robots and emitted.one.robots.status == 200
        pages = [f"{server.root}/{path}" for path in ("secret", "wall", "x")]
        emitted = await run_order(*pages, **changes)
    assert emitted.outcomes == ["page"] * 3
    assert all(ended.signed for ended in emitted.ended)
    paths = ["/robots.txt", "/robots-2.txt", "/secret", "/wall", "/wall", "/x"]
    assert server.requests == [(path, True) for path in paths]
    assert len(set(server.nonces)) == len(paths)
    assert server.agents == {agent}


async def test_only_orders_of_asking_hosts_are_signed(tmp_path: Path) -> None:
    key = write_key(tmp_path)
    changes: dict[str, Any] = {
        "sign": "asked",
        "signing_keys": tmp_path / "key.json",
        "signature_agent": AGENT,
    }
    async with serving(key) as server:
        given = order(f"{server.root}/secret")
        first = await run_order(given=given, **changes)
        second = await run_order(given=replace(given, sign=True), **changes)
    assert (first.one.outcome, first.one.signed) == (Outcome.SIGNATURE_ASKED, False)
    assert (second.one.outcome, second.one.signed) == (Outcome.PAGE, True)
    assert server.requests == [("/secret", False), ("/secret", True)]


@pytest.mark.parametrize("status", [401, 403])
def test_refusal_that_asks_for_a_signature_is_an_outcome_of_its_own(status: int) -> None:
    asking = Reply(status=status, headers=(("Accept-Signature", ACCEPT_SIGNATURE),))
    assert assess(asking, "http://a.test/", 0.0).outcome is Outcome.SIGNATURE_ASKED
    plain = Reply(status=status)
    assert assess(plain, "http://a.test/", 0.0).outcome is Outcome.CLIENT_ERROR


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"sign": "always", "signature_agent": AGENT}, "fetcher.signing_keys"),
        ({"sign": "asked", "signing_keys": "keys"}, "fetcher.signature_agent"),
        ({"signature_agent": "http://bot.example"}, "fetcher.signature_agent"),
        ({"signature_agent": "https://bot.example/keys"}, "fetcher.signature_agent"),
    ],
)
def test_impossible_settings_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadSettings, match=named):
        FetcherSettings(**changes)


async def test_unusable_keys_stop_the_start_and_are_not_shown(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"sign": "always", "signing_keys": tmp_path, "signature_agent": AGENT}
    with pytest.raises(BadSettings, match="contains no key"):
        await run_order("http://127.0.0.1/", **changes)
    write_key(tmp_path, mode=0o644)
    with pytest.raises(BadSettings, match="mode 0644"):
        await run_order("http://127.0.0.1/", **changes)
    (tmp_path / "key.json").write_text("secret")
    (tmp_path / "key.json").chmod(0o600)
    with pytest.raises(BadSettings) as error:
        await run_order("http://127.0.0.1/", **changes)
    assert "secret" not in str(error.value)
    with pytest.raises(BadSettings, match="cannot be read"):
        await run_order("http://127.0.0.1/", **changes | {"signing_keys": tmp_path / "none"})


def test_same_key_in_two_files_is_refused(tmp_path: Path) -> None:
    write_key(tmp_path)
    (tmp_path / "copy.json").write_bytes((tmp_path / "key.json").read_bytes())
    (tmp_path / "copy.json").chmod(0o600)
    with pytest.raises(BadSettings, match="twice"):
        read_signing_keys(tmp_path)
