"""Who may use the HTTP API: tokens, roles, sessions, proxies, and rate limits."""

import logging
import os
import socket
import stat
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.routes import HTTPRoute

from gossamer.console.api import slow_clients
from gossamer.console.api.gate import OPEN, ROLE
from gossamer.console.api.identity import Actor, Credentials, Forbidden, Identities, Unidentified
from gossamer.console.api.limits import MAX_BUCKETS, Rate, RateLimit
from gossamer.console.api.process import listening
from gossamer.console.api.tokens import Tokens, add_token
from gossamer.console.cli.main import main
from gossamer.errors import BadSettings
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.settings import ApiSettings, load_settings
from gossamer.settings.api import Grant
from tests.console.served import BASE, PORT, TOKEN, Client, client_of, make_api, serving
from tests.servers import free_ports

STATUS = "/v1/crawls/default/status"
PROXY: dict[str, Any] = {
    "trusted_proxies": ("10.0.0.0/8",),
    "user_header": "X-Forwarded-Email",
    "groups_header": "X-Forwarded-Groups",
    "group_roles": ("sre=admin", "editors=operate:shop", "readers=view:shop,news"),
}
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the folder of an empty crawl."""
    folder = Folder(tmp_path / "data")
    folder.make()
    Opened(folder).database.close()
    return folder.path


@pytest.fixture
def client(data: Path) -> Iterator[Client]:
    """Return a client without a token."""
    with client_of(make_api(data), token=None) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_log_of_the_process_stays_as_it_is(data: Path) -> None:
    root = logging.getLogger()
    before = [*root.handlers], root.level
    with client_of(make_api(data)):
        assert ([*root.handlers], root.level) == before


def test_each_route_states_its_role(data: Path) -> None:
    routes = [route for route in make_api(data).routes if isinstance(route, HTTPRoute)]
    opened = set()
    for route in routes:
        for handler in route.route_handlers:
            if handler.http_methods == {"OPTIONS"}:
                continue  # It states no role, so it is refused: no other site may use the API.
            if handler.opt.get(ROLE) == OPEN:
                opened |= {(method, route.path) for method in handler.http_methods}
            elif "GET" not in handler.http_methods and route.path != "/v1/session":
                assert handler.opt[ROLE] in ("operate", "admin"), route.path
    changing = {(method, path) for method, path in opened if method not in ("GET", "OPTIONS")}
    assert changing == {("POST", "/v1/session")}
    assert not any(path.startswith("/v1") and path != "/v1/session" for _, path in opened)


def test_requests_without_a_valid_token_are_refused(client: Client) -> None:
    for headers in ({}, bearer("wrong"), {"Authorization": f"Basic {TOKEN}"}, bearer("")):
        refused = client.get(STATUS, headers=headers)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert client.get(STATUS, headers=bearer(TOKEN)).status_code == 200
    assert client.get("/healthz").status_code == 200


def test_other_sites_get_no_permission_to_use_the_api(client: Client) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
    preflight = client.options(STATUS, headers=headers)
    assert preflight.status_code == 403
    assert "access-control-allow-origin" not in preflight.headers


def test_role_and_crawls_of_a_token_limit_requests(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    viewer = add_token(file, "viewer", Grant("view"), None)
    shop = add_token(file, "shop", Grant("view", frozenset({"shop"})), None)
    with client_of(make_api(data, Tokens(file)), token=None) as client:
        assert client.get("/v1/session", headers=bearer(viewer)).json() == {
            "name": "token:viewer",
            "role": "view",
            "crawls": None,
            "expires_at": None,
            "requires_reason": False,
        }
        assert client.get(STATUS, headers=bearer(viewer)).status_code == 200
        refused = client.get(STATUS, headers=bearer(shop))
        assert refused.status_code == 403
        assert client.get("/v1/hosts", headers=bearer(shop)).status_code == 200
        for query in ("", "&crawl=default", "&crawl=shop&crawl=default"):
            twice = client.get(f"/v1/host?host=a.example{query}", headers=bearer(shop))
            assert twice.status_code == 403, query


def test_weight_of_a_crawl_needs_rights_on_all_crawls(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    of_shop = add_token(file, "shop", Grant("admin", frozenset({"shop"})), None)
    of_all = add_token(file, "all", Grant("admin"), None)
    with client_of(make_api(data, Tokens(file)), token=None) as client:

        def status(weight: float, token: str) -> int:
            text = f'seeds = ["http://shop.example/"]\nweight = {weight}\n'
            body = {"definition": text}
            return client.put("/v1/crawls/shop", json=body, headers=bearer(token)).status_code

        assert status(2.0, of_shop) == 403
        assert status(1.0, of_shop) == 200
        assert status(2.0, of_shop) == 403
        assert status(2.0, of_all) == status(2.0, of_shop) == 200


def test_token_is_revoked_when_its_entry_or_the_file_is_gone(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    secret = add_token(file, "ann", Grant("admin"), None)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and secret not in file.read_text()
    with client_of(make_api(data, Tokens(file)), secret) as client:
        assert client.get(STATUS).status_code == 200
        file.write_text("not toml")
        assert client.get(STATUS).status_code == 401
        file.unlink()
        assert client.get(STATUS).status_code == 401


def test_token_expires(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    secret = add_token(file, "ann", Grant("view"), expires_at=1000.0)
    tokens = Tokens(file)
    assert tokens.find(secret, 999.0) == ("ann", Grant("view"))
    assert tokens.find(secret, 1000.0) is None


def test_token_command_writes_the_hash_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tokens.toml"
    words = ["token", "ann", "--role", "operate", "--crawls", "shop,news", "--file", str(file)]
    assert main([*words, "--for", "90d"]) == 0
    (secret,) = capsys.readouterr().out.splitlines()
    name, grant = Tokens(file).find(secret, 0.0) or ("", None)
    assert (name, grant) == ("ann", Grant("operate", frozenset({"shop", "news"})))
    assert tomllib.loads(file.read_text())["ann"]["expires"] > datetime.now(UTC)
    assert main(words) == 2
    assert "ann" in capsys.readouterr().err


def test_session_of_a_browser_begins_with_a_token_and_ends(client: Client) -> None:
    begun = client.post("/v1/session", json={"token": TOKEN}, headers=SAME_ORIGIN)
    cookie = begun.headers["set-cookie"]
    assert begun.status_code == 200 and begun.json()["role"] == "admin"
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
    assert client.get(STATUS).status_code == 200
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": BASE},
        {},
    ):
        forged = client.delete(
            "/v1/session", headers={"Content-Type": "application/json", **headers}
        )
        assert forged.status_code == 403, headers
    form = {**SAME_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    assert client.delete("/v1/session", headers=form).status_code == 403
    json_type = {**SAME_ORIGIN, "Content-Type": "application/json"}
    session = client.cookies["gossamer_session"]
    ended = client.delete("/v1/session", headers=json_type)
    assert ended.status_code == 204 and "Max-Age=0" in ended.headers["set-cookie"]
    client.cookies.set("gossamer_session", session)
    assert client.get(STATUS).status_code == 401


def test_session_ends_with_its_token_and_has_its_present_role(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    secret = add_token(file, "ann", Grant("admin"), None)
    with client_of(make_api(data, Tokens(file)), token=None) as client:
        assert client.post("/v1/session", json={"token": secret}).status_code == 200
        assert client.get("/v1/session").json()["role"] == "admin"
        file.write_text(file.read_text().replace('"admin"', '"view"'))
        assert client.get("/v1/session").json()["role"] == "view"
        entry = file.read_text()
        file.write_text("")
        assert client.get(STATUS).status_code == 401
        file.write_text(f"{entry}# Here again.")
        assert client.get(STATUS).status_code == 401


def test_second_console_of_a_folder_leaves_the_token_of_the_first(tmp_path: Path) -> None:
    file, settings = tmp_path / "console-token", ApiSettings()
    file.write_text("of a process that was killed")
    with listening(settings, 0, file) as first:
        assert first.token_file == file and file.read_text() == first.token
        with listening(settings, 0, file) as second:
            assert second.token and second.token_file is None
            assert file.read_text() == first.token
        assert file.read_text() == first.token
    assert not file.exists()


def test_other_sites_cannot_log_a_browser_in(client: Client) -> None:
    refused = client.post(
        "/v1/session", json={"token": TOKEN}, headers={"Origin": "https://evil.example"}
    )
    assert refused.status_code == 403 and "set-cookie" not in refused.headers


def test_too_many_requests_are_refused_with_the_time_to_wait(data: Path) -> None:
    with client_of(make_api(data, reads=0.01)) as client:
        refused = client.get(STATUS)
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 1


@given(
    st.lists(st.floats(0.0, 5.0), min_size=1, max_size=60),
    st.floats(0.1, 20.0),
    st.floats(1.0, 20.0),
)
def test_permits_never_exceed_burst_and_rate(
    gaps: list[float], per_second: float, burst: float
) -> None:
    limit, now, permits = RateLimit(Rate(per_second, burst)), 0.0, 0
    for gap in gaps:
        now += gap
        wait = limit.wait("ann", now)
        permits += not wait
        if wait:
            assert limit.wait("ann", now + wait + 1e-6) == 0.0
            permits += 1
            now += wait + 1e-6
        assert permits <= burst + now * per_second + 1e-6


def test_memory_of_rate_limits_is_bounded() -> None:
    limit = RateLimit(Rate(1.0, 1.0))
    for number in range(MAX_BUCKETS + 10):
        limit.wait(str(number), 0.0)
    assert limit.wait(str(MAX_BUCKETS), 0.0) > 0.0 and limit.wait("0", 0.0) == 0.0


def identify(peer: str, **headers: str) -> Actor:
    settings = ApiSettings(**PROXY)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Identities(settings, Tokens()).identify(Credentials(peer, named), now=0.0)


def test_trusted_proxy_names_user_and_groups() -> None:
    ann = identify("10.1.2.3", x_forwarded_email="ann@a.example", x_forwarded_groups="dev, sre")
    assert ann == Actor("ann@a.example", "admin", None, is_browser=True)
    bob = identify("10.1.2.3", x_forwarded_email="bob", x_forwarded_groups="editors,readers")
    assert (bob.role, bob.crawls) == ("operate", frozenset({"shop"}))
    with pytest.raises(Forbidden, match="none of the groups"):
        identify("10.1.2.3", x_forwarded_email="eve", x_forwarded_groups="dev")
    with pytest.raises(Unidentified, match="no valid"):
        identify("10.1.2.3", x_forwarded_email="", x_forwarded_groups="sre")
    with pytest.raises(Unidentified, match="no valid"):
        identify("10.1.2.3", x_forwarded_email="token:ann", x_forwarded_groups="sre")


def test_headers_of_a_proxy_are_refused_from_other_peers() -> None:
    for peer in ("192.0.2.1", "", "not an address"):
        with pytest.raises(Forbidden, match="trusted_proxies"):
            identify(peer, x_forwarded_email="ann", x_forwarded_groups="sre")
        with pytest.raises(Forbidden, match="trusted_proxies"):
            identify(peer, x_forwarded_groups="sre")


def test_actor_of_single_crawls_may_not_change_shared_things() -> None:
    with pytest.raises(Forbidden, match="concerns all crawls"):
        Actor("ann", "admin", frozenset({"shop"})).check_shared()
    Actor("ann", "admin").check_shared()
    with pytest.raises(Forbidden, match="has the role view; this needs operate"):
        Actor("ann", "view").check_role("operate")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"address": "0.0.0.0"}, "needs tokens_file or trusted_proxies"),
        ({"address": "0.0.0.0", "tokens_file": "t.toml"}, "plain_http"),
        ({"address": "nowhere"}, "api.address"),
        ({"cert_file": "c.pem"}, "cert_file and key_file belong together"),
        ({"cert_file": "c.pem", "key_file": "k.pem"}, "c.pem is not a file"),
        ({"user_header": "X-User"}, "trusted_proxies and user_header belong together"),
        ({"group_roles": ["a=view"]}, "groups_header and group_roles belong together"),
        ({**PROXY, "trusted_proxies": ["0.0.0.0/0"]}, "would trust every client"),
        ({**PROXY, "group_roles": ["sre=root"]}, "api.group_roles"),
        ({**PROXY, "group_roles": ["sre"]}, "write GROUP=operate"),
    ],
)
def test_impossible_settings_are_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(BadSettings, match="api") as error:
        load_settings(None, {"api": given})
    assert named in str(error.value)


def test_missing_file_of_tokens_is_explained(tmp_path: Path) -> None:
    with pytest.raises(
        BadSettings, match=r"tokens\.toml does not exist: gossamer token creates it"
    ):
        Tokens(tmp_path / "tokens.toml")


def test_generated_token_is_private_and_removed(tmp_path: Path) -> None:
    file = tmp_path / "console-token"
    file.write_text("old")
    os.chmod(file, 0o644)
    with listening(ApiSettings(), free_ports(1), file) as site:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert site.link == f"{site.address}/#token={file.read_text()}"
        assert site.listener.getsockname()[0] == "127.0.0.1"
    assert not file.exists()


def test_link_of_a_team_has_a_name_that_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    add_token(file, "ann", Grant("view"), None)
    given: dict[str, Any] = {"address": "0.0.0.0", "tokens_file": file, "plain_http": True}
    for names, host in (((), "localhost"), (("crawler.example.org",), "crawler.example.org")):
        with listening(ApiSettings(**given, names=names), free_ports(1), None) as site:
            assert site.link == f"http://{host}:{site.port}/"


def test_responses_forbid_scripts_frames_and_caches(client: Client) -> None:
    for path in (STATUS, "/healthz", "/nothing"):
        headers = client.get(path, headers=bearer(TOKEN)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_long_urls_and_large_bodies_are_refused(client: Client) -> None:
    headers = bearer(TOKEN)
    assert (
        client.get(f"/v1/crawls/default/url?url={'a' * 9000}", headers=headers).status_code == 414
    )
    large = client.post("/v1/session", json={"token": "a" * (2 << 20)})
    assert large.status_code == 413


def test_host_names_of_the_settings_are_accepted(data: Path) -> None:
    with client_of(make_api(data, names=("crawler.example.org",))) as client:
        for host, status in (
            ("crawler.example.org", 200),
            (f"Crawler.example.org:{PORT}", 200),
            (f"localhost:{PORT}", 200),
            ("127.0.0.1", 400),
            (f"evil.example:{PORT}", 400),
        ):
            assert client.get(STATUS, headers={"host": host}).status_code == status, host


def test_body_that_cannot_be_decoded_is_the_error_of_its_sender(client: Client) -> None:
    headers = {**bearer(TOKEN), "Content-Type": "application/json"}
    for body in (b'{"rules": ' + b"[" * 200_000, b'{"rules": ["\xff"]}', b'{"rules": [NaN]}'):
        refused = client.post("/v1/blocklist", content=body, headers=headers)
        assert refused.status_code == 400, body[:20]
    at = client.get("/v1/crawls/default/usage?target=a.example&at=nan", headers=bearer(TOKEN))
    assert at.status_code == 400


def test_headers_that_a_proxy_has_added_to_those_of_its_client_are_refused() -> None:
    identities = Identities(ApiSettings(**PROXY), Tokens())
    headers = {"x-forwarded-email": "ann@a.example", "x-forwarded-groups": "sre"}
    given = Credentials("10.1.2.3", headers)
    assert identities.identify(given, 0.0).name == "ann@a.example"
    with pytest.raises(Forbidden, match="twice"):
        identities.identify(given._replace(repeated={"x-forwarded-email"}), 0.0)


def test_guessing_is_slowed_down_and_locks_out_no_user_of_the_same_address(data: Path) -> None:
    with client_of(make_api(data), token=None) as client:
        statuses = [client.get(STATUS, headers=bearer(f"{n}")).status_code for n in range(9)]
        assert statuses == [401] * 5 + [429] * 4
        assert client.post("/v1/session", json={"token": "10"}).status_code == 429
        assert client.get(STATUS, headers=bearer(TOKEN)).status_code == 200
        assert client.post("/v1/session", json={"token": TOKEN}).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /v1/session HTTP/1.1\r\nHost: ",
        b"POST /v1/session HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1000\r\n\r\n{",
    ],
)
def test_connections_of_slow_clients_are_closed(
    data: Path, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_clients, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(slow_clients, "BODY_SECONDS", 0.3)
    with serving(data) as url:
        host = url.removeprefix("http://")
        name, _, port = host.partition(":")
        with socket.create_connection((name, int(port)), timeout=60.0) as connection:
            connection.sendall(sent.replace(b"HOST", host.encode()))
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


def test_connection_whose_second_request_is_slow_is_closed(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_clients, "HEAD_SECONDS", 0.3)
    with serving(data) as url:
        name, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((name, int(port)), timeout=60.0) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
            connection.sendall(b"GET /healthz HT")
            assert b"".join(iter(lambda: connection.recv(4096), b"")) in (b"", b"ok")


def test_pattern_is_no_target_of_an_erasure(client: Client) -> None:
    for target in ("*.example.org", "https://*.example.org", "*"):
        refused = client.post(
            "/v1/erasures", json={"target": target}, headers=bearer(TOKEN), params={"dry_run": True}
        )
        assert refused.status_code == 400 and "name the site" in refused.json()["detail"]
