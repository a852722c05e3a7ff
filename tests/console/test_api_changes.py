"""Changes through the HTTP API: the same plans as the commands, with actor, reason and dry run."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode as encode_json

from gossamer import clock
from gossamer.console.api.tokens import Tokens, add_token
from gossamer.console.cli.main import main
from gossamer.crawl import blocklist_of, host_overrides_of, overrides_of, speed_of
from gossamer.erasures import ErasureRow
from gossamer.events import DEFAULT_CRAWL, BlocklistChanged, ErasureRequested, Outcome, SeedAdded
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import OpenCrawl, open_crawl
from gossamer.procedures.copying import Copy
from gossamer.services.dedup.content import DigestRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.settings.api import Grant
from gossamer.web.url import HostKey, Site
from tests.console.gossamer import Gossamer
from tests.console.served import Client, client_of, make_api
from tests.runtime.processors import events
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript

HOST = HostKey("http://a.example")
URL = f"{HOST}/page"
CRAWL = f"/v1/crawls/{DEFAULT_CRAWL}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the folder of a crawl with a URL that failed."""
    folder = tmp_path / "data"
    assert main(["seed", "--data", str(folder), f"{HOST}/"]) == 0
    failed = UrlRow(DEFAULT_CRAWL, HOST, URL, Outcome.GONE, at=5.0, status=404, attempt=1)
    put_rows(Folder(folder).open().store, failed)
    return folder


@pytest.fixture
def crawl(data: Path) -> Iterator[OpenCrawl]:
    """Return the opened crawl."""
    with open_crawl(None, data) as opened:
        yield opened


def send(client: Client, method: str, path: str, body: dict[str, Any], **query: Any) -> Any:
    """Send a change; return the answer."""
    answer = client.request(method, path, json=body, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


CHANGES: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("POST", "/v1/blocklist", {"rules": ["b.example"]}, "block"),
    ("DELETE", "/v1/blocklist", {"rules": ["old.example"]}, "unblock"),
    ("PUT", "/v1/speed", {"speeds": [{"when": "sat,sun", "pages": 5}]}, "speed"),
    ("PUT", "/v1/overrides/sites/a.example", {"delay": 9}, "site"),
    ("PUT", "/v1/overrides/hosts/www.a.example", {"off": True}, "host"),
    ("POST", f"{CRAWL}/seeds", {"urls": [f"{HOST}/new"]}, "seed"),
    ("POST", f"{CRAWL}/retry", {"urls": [URL]}, "retry"),
    ("POST", f"{CRAWL}/retry", {"outcome": "404"}, "retry"),
    ("POST", f"{CRAWL}/refetch", {"urls": [URL]}, "refetch"),
    ("POST", f"{CRAWL}/pause", {}, "pause"),
    ("POST", "/v1/erasures", {"target": URL}, "forget"),
    ("DELETE", CRAWL, {}, "remove"),
)


@pytest.fixture
def blocked(data: Path) -> None:
    """Block a host that a test may unblock."""
    assert main(["block", "old.example", "--data", str(data)]) == 0


@pytest.mark.usefixtures("blocked")
@pytest.mark.parametrize(("method", "path", "body", "action"), CHANGES)
def test_dry_run_appends_nothing_and_a_change_is_recorded(
    client: Client, method: str, path: str, body: dict[str, Any], action: str
) -> None:
    before = client.get("/v1/audit").json()["items"]
    tried = send(client, method, path, body, dry_run=True)
    assert tried["id"] is None and tried["effect"]["text"]
    assert client.get("/v1/audit").json()["items"] == before
    made = send(client, method, path, {**body, "reason": "OPS-7"})
    newest, *rest = client.get("/v1/audit").json()["items"]
    assert rest == before and newest["id"] == made["id"]
    assert (newest["action"], newest["reason"]) == (action, "OPS-7")
    assert (newest["actor"], newest["role"], newest["source"]) == (
        "token:generated",
        "admin",
        "api",
    )
    assert newest["effect"] == tried["effect"]["text"]


def test_changes_are_those_that_the_commands_make(
    client: Client, crawl: OpenCrawl, gossamer: Gossamer
) -> None:
    for method, path, body, _ in CHANGES[2:6]:
        send(client, method, path, body)
    assert overrides_of(crawl.log)[Site("a.example")].delay == 9.0
    assert host_overrides_of(crawl.log)["www.a.example"].off is True
    assert [(one.when, one.pages) for one in speed_of(crawl.log).speeds] == [("sat,sun", 5.0)]
    seeds = [one.url for one in gossamer.events("seeds") if isinstance(one, SeedAdded)]
    assert seeds[-1] == f"{HOST}/new"
    send(client, "DELETE", "/v1/overrides/hosts/www.a.example", {})
    assert "www.a.example" not in host_overrides_of(crawl.log)


def test_block_expires(client: Client) -> None:
    now = clock.now()
    lasting = {"rules": ["a.example"], "reason": "a complaint"}
    send(client, "POST", "/v1/blocklist", lasting)
    send(client, "POST", "/v1/blocklist", {"rules": ["b.example"], "expires_in": 3600})
    (change, *_) = client.get("/v1/audit").json()["items"]
    assert now + 3600 <= change["expires_at"] <= clock.now() + 3600
    first, second = client.get("/v1/blocklist").json()["items"]
    assert (first["reason"], first["expires_at"]) == ("a complaint", None)
    assert (second["actor"], second["reason"]) == ("token:generated", "")
    assert second["expires_at"] == change["expires_at"]


def test_paused_crawl_is_resumed(client: Client, crawl: OpenCrawl) -> None:
    send(client, "POST", f"{CRAWL}/pause", {})
    (summary,) = client.get("/v1/crawls").json()
    assert (summary["crawl"], summary["state"]) == (DEFAULT_CRAWL, "paused")
    send(client, "POST", f"{CRAWL}/resume", {})
    (summary,) = client.get("/v1/crawls").json()
    assert summary["state"] == "active"


def test_impossible_changes_are_refused_with_the_reason(
    client: Client, crawl: OpenCrawl, transcript: Transcript
) -> None:
    new = "/v1/crawls/shop"
    for method, path, body in (
        ("POST", "/v1/blocklist", {"rules": []}),
        ("POST", "/v1/blocklist", {"rules": ["ftp://a.example"]}),
        ("POST", "/v1/blocklist", {"rules": ["a.example"], "odd": 1}),
        ("PUT", "/v1/speed", {"speeds": [{"when": "someday"}]}),
        ("PUT", "/v1/overrides/sites/a.example", {}),
        ("PUT", "/v1/overrides/sites/a.example", {"delay": -1}),
        ("POST", f"{CRAWL}/retry", {}),
        ("POST", f"{CRAWL}/retry", {"outcome": "odd"}),
        ("POST", f"{CRAWL}/retry", {"urls": [URL], "expires_in": 3600}),
        ("POST", f"{CRAWL}/seeds", {"urls": ["https://elsewhere.example/"]}),
        ("POST", f"{CRAWL}/dead-letters/replay", {}),
        ("POST", f"{CRAWL}/dead-letters/replay", {"letters": ["0/7"]}),
        # A definition cannot read files of the server.
        ("PUT", new, {"definition": 'seeds_file = "/etc/hostname"'}),
        ("PUT", new, {"definition": "not toml"}),
        ("PUT", new, {"definition": 'id = "news"\nseeds = ["http://a.example/"]'}),
    ):
        refused = client.request(method, path, json=body)
        assert refused.status_code == (404 if "letters" in body else 400), (path, refused.text)
        transcript.add(f"{method} {path} {body}", encode_json(refused.json()).decode())
    assert not blocklist_of(crawl.log).rules


def test_roles_limit_changes(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    grants = {
        "viewer": Grant("view"),
        "operator": Grant("operate"),
        "shop": Grant("admin", frozenset({DEFAULT_CRAWL})),
    }
    tokens = {name: add_token(file, name, grant, None) for name, grant in grants.items()}
    retry = ("POST", f"{CRAWL}/retry", {"urls": [URL]})
    block = ("POST", "/v1/blocklist", {"rules": ["b.example"]})
    remove: tuple[str, str, dict[str, Any]] = ("DELETE", CRAWL, {})
    with client_of(make_api(data, Tokens(file)), token=None) as client:
        for name, (method, path, body), status in (
            ("viewer", retry, 403),
            ("viewer", block, 403),
            ("operator", retry, 200),
            ("operator", block, 200),
            ("operator", remove, 403),
            ("shop", retry, 200),
            ("shop", block, 403),
            ("shop", remove, 200),
        ):
            headers = {"Authorization": f"Bearer {tokens[name]}"}
            answer = client.request(
                method, path, json=body, headers=headers, params={"dry_run": True}
            )
            assert answer.status_code == status, (name, path, answer.text)


def test_definition_is_shown_changed_and_added(client: Client, crawl: OpenCrawl) -> None:
    shown = client.get(f"{CRAWL}/definition").json()["text"]
    same = send(client, "PUT", CRAWL, {"definition": shown}, dry_run=True)
    assert same["effect"]["count"] == 0 or "seed" in str(same["effect"])
    deeper = {"definition": f"{shown}\n[limits]\nmax_depth = 3\n"}
    tried = send(client, "PUT", CRAWL, deeper, dry_run=True)
    assert any("16 → 3" in line for line in tried["effect"]["lines"])
    send(client, "PUT", CRAWL, deeper)
    definition = crawl.definition()
    assert definition is not None and definition.max_depth == 3
    new = {"definition": 'seeds = ["http://shop.example/"]\nweight = 2.0\n'}
    send(client, "PUT", "/v1/crawls/shop", new)
    assert [one["crawl"] for one in client.get("/v1/crawls").json()] == ["default", "shop"]


def test_erasure_is_requested_for_all_crawls_and_listed_when_it_has_begun(
    client: Client, data: Path, transcript: Transcript
) -> None:
    store = Folder(data).open().store
    store.table(DigestRow).put(DigestRow(DEFAULT_CRAWL, "1", URL))
    store.flush()
    path, body = "/v1/erasures", {"target": URL, "forever": True, "reason": "letter of May 3"}
    tried = send(client, "POST", path, body, dry_run=True)
    made = send(client, "POST", path, body)
    transcript.add("dry run", tried["effect"]["lines"])
    transcript.add("change", made["effect"]["lines"])
    assert not [*store.table(DigestRow).everything()]
    (event,) = (
        one
        for one in events(Folder(data).open().log, "urls.admitted")
        if isinstance(one, ErasureRequested)
    )
    assert (event.url, event.requested_by) == (URL, "token:generated")
    assert [one["rule"] for one in client.get("/v1/blocklist").json()["items"]] == [
        "a.example/page"
    ]
    assert client.get("/v1/erasures").json() == []
    key = f"{event.at:017.6f} frontier 0000 {URL}"
    store.table(ErasureRow).put(
        ErasureRow("-", key, "frontier", URL, 0, event.at, event.requested_by, 7, True, {"urls": 1})
    )
    store.flush()
    (listed,) = client.get("/v1/erasures").json()
    assert (listed["target"], listed["rows"]) == (URL, {"urls": 1})
    assert listed["waiting_for"] == ["dedup", "archive"]


def test_only_an_admin_of_all_crawls_may_erase(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    grants = (Grant("operate"), Grant("admin", frozenset({DEFAULT_CRAWL})))
    tokens = [add_token(file, f"t{n}", grant, None) for n, grant in enumerate(grants)]
    with client_of(make_api(data, Tokens(file)), token=None) as client:
        for token in tokens:
            client.headers["Authorization"] = f"Bearer {token}"
            assert client.post("/v1/erasures", json={"target": URL}).status_code == 403
            assert client.get("/v1/erasures").status_code == 403


def test_erasure_of_a_large_store_goes_on_after_the_time_of_a_request(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, copy_rows = threading.Event(), Copy.copy_rows

    def slow(*arguments: Any) -> Any:
        may_go_on.wait()
        return copy_rows(*arguments)

    monkeypatch.setattr(Copy, "copy_rows", slow)
    with client_of(make_api(data, timeout=0.2)) as client:
        made = send(client, "POST", "/v1/erasures", {"target": URL})
        assert "is being erased" in made["effect"]["text"]
        may_go_on.set()
    found = events(Folder(data).open().log, "urls.admitted")
    assert [one.url for one in found if isinstance(one, ErasureRequested)] == [URL]


def at_of(client: Client, path: str, *names: str) -> float:
    """Return `at` of a setting, 0 if it was never set."""
    found = client.get(path).json()
    for name in names:
        found = found.get(name, {})
    return float(found.get("at", 0.0))


FILE = 'id = "default"\nscope = "domain(\'a.example\')"\nseeds = ["http://a.example/"]\n'


@pytest.mark.parametrize(
    ("path", "body", "shown"),
    [
        ("/v1/speed", {"speeds": [{"when": "sat,sun", "pages": 5}]}, ("/v1/speed",)),
        ("/v1/overrides/sites/a.example", {"delay": 9}, ("/v1/overrides", "sites", "a.example")),
        (
            "/v1/overrides/hosts/w.a.example",
            {"off": True},
            ("/v1/overrides", "hosts", "w.a.example"),
        ),
        (CRAWL, {"definition": FILE}, (f"{CRAWL}/definition",)),
    ],
)
def test_change_of_a_setting_that_was_changed_since_is_refused(
    client: Client, path: str, body: dict[str, Any], shown: tuple[str, ...]
) -> None:
    read = at_of(client, *shown)
    send(client, "PUT", path, {**body, "replaces": read, "reason": "first"})
    newest = at_of(client, *shown)
    assert newest > read
    for query in ({}, {"dry_run": True}):
        lost = client.put(path, json={**body, "replaces": read}, params=query)
        assert lost.status_code == 412 and "read it again" in lost.json()["detail"]
    send(client, "PUT", path, {**body, "replaces": newest})
    send(client, "PUT", path, body)


def test_rule_states_its_actor_and_reason_itself(client: Client, gossamer: Gossamer) -> None:
    """The audit log is kept for ever, so no list reads all of it."""
    gossamer.append(BlocklistChanged(at=1.0, rule="c.example", actor="ann", reason="spam"))
    send(client, "POST", "/v1/blocklist", {"rules": ["b.example"], "reason": "OPS-7"})
    send(client, "POST", "/v1/blocklist", {"rules": ["c.example"], "reason": "again"})
    rules = client.get("/v1/blocklist").json()["items"]
    stated = {one["rule"]: (one["actor"], one["reason"]) for one in rules}
    assert stated["b.example"] == ("token:generated", "OPS-7")
    assert stated["c.example"] == ("ann", "spam")
    send(client, "DELETE", "/v1/blocklist", {"rules": ["b.example"], "reason": "solved"})
    gossamer("audit", "--action", "unblock")


def test_reason_may_be_obligatory(data: Path) -> None:
    with client_of(make_api(data, require_reason=True)) as client:
        assert client.get("/v1/session").json()["requires_reason"] is True
        for reason in ({}, {"reason": "  "}):
            body = {"rules": ["b.example"], **reason}
            refused = client.post("/v1/blocklist", json=body)
            assert refused.status_code == 400 and "needs a reason" in refused.json()["detail"]
            assert client.post("/v1/blocklist?dry_run=true", json=body).status_code == 200
            assert client.post("/v1/erasures", json={"target": URL, **reason}).status_code == 400
        send(client, "POST", "/v1/blocklist", {"rules": ["b.example"], "reason": "OPS-7"})
