"""Notifications in the HTTP API and by command: who may see and test them, and what is shown."""

import json
from pathlib import Path

import pytest

from gossamer.console.api.app import make_app
from gossamer.console.api.hosts_index import Place
from gossamer.console.api.tokens import Tokens, add_token
from gossamer.console.cli.main import main
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.settings import ApiSettings, load_settings
from gossamer.settings.api import Grant
from tests.console.served import PORT, Client, client_of
from tests.support.receivers import HookServer
from tests.support.transcripts import Transcript

TEST = "/v1/notifications/ops/test"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the folder of a crawl."""
    data = tmp_path / "data"
    assert main(["seed", "--data", str(data), "http://a.example/"]) == 0
    return data


def file_for(folder: Path, hooks: HookServer) -> Path:
    """Return a settings file with one webhook."""
    file = folder / "gossamer.toml"
    file.write_text(
        f'[notify]\nwebhooks = ["ops=http://127.0.0.1:{hooks.port}/?key=secret"]\n'
        'allow_networks = ["127.0.0.0/8"]\nreport = "weekly"\n'
    )
    return file


def test_admins_test_channels_and_viewers_see_the_result(tmp_path: Path, data: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    secrets = {
        name: add_token(tokens, name, grant, None)
        for name, grant in {
            "ann": Grant("admin"),
            "bob": Grant("operate"),
            "eve": Grant("admin", frozenset({"default"})),
        }.items()
    }
    with HookServer() as hooks:
        settings = load_settings(file_for(tmp_path, hooks))
        app = make_app(
            lambda: open_crawl(None, data), Place(data, settings), ApiSettings(),
            Tokens(tokens), PORT,
        )  # fmt: skip

        def status(client: Client, name: str, method: str, path: str) -> int:
            given = {"Authorization": f"Bearer {secrets[name]}"}
            return client.request(method, path, headers=given).status_code

        with client_of(app, token=None) as client:
            assert status(client, "bob", "POST", TEST) == 403
            assert status(client, "eve", "POST", TEST) == 403, "channels belong to all crawls"
            assert status(client, "eve", "GET", "/v1/notifications") == 403
            assert status(client, "ann", "POST", TEST.replace("ops", "mail")) == 404
            assert not hooks.received
            assert status(client, "ann", "POST", TEST) == 200
            hooks.stop()
            client.headers["Authorization"] = f"Bearer {secrets['ann']}"
            failed = client.post(TEST).json()
            assert not failed["is_delivered"] and "cannot be reached" in failed["error"]
            shown = client.get("/v1/notifications", params={"limit": 2}).json()
    assert "secret" not in json.dumps(shown)
    assert [one["name"] for one in shown["channels"]] == ["ops", "topic"]
    assert (shown["report"], shown["report_hour"]) == ("weekly", 6)
    newest, before = shown["notices"]
    assert "token:ann" in before["text"]
    assert before["sent"][0]["error"] == "" and newest["sent"][0]["error"] == failed["error"]
    [(body, _)] = hooks.received
    assert json.loads(body)["text"] == before["text"]


def test_command_tests_a_channel_and_lists_notices(
    tmp_path: Path, data: Path, transcript: Transcript
) -> None:
    with HookServer() as hooks:
        place = ("--data", data, "--config", file_for(tmp_path, hooks))
        transcript("notifications", "test", "ops", *place)
        assert len(hooks.received) == 1
        hooks.status = 410
        transcript("notifications", "test", "ops", *place, status=1)
        transcript("notifications", "test", "nobody", *place, status=1)
        transcript("notifications", "test", "topic", *place)
        assert "secret" not in transcript("notifications", "list", *place)


def test_command_without_channels_says_how_to_set_them(data: Path, transcript: Transcript) -> None:
    transcript("notifications", "list", "--data", data)
