"""Settings: what wins over what, and what is refused by name."""

import re
import traceback
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gossamer.errors import BadSettings
from gossamer.events.topics import PAGES_FETCHED
from gossamer.settings import Settings, load_settings


def file(folder: Path, text: str) -> Path:
    path = folder / "gossamer.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_has_a_default() -> None:
    assert load_settings() == Settings()
    assert load_settings().frontier.delay == 1.0


def test_a_file_sets(tmp_path: Path) -> None:
    settings = load_settings(
        file(tmp_path, '[frontier]\ndelay = 2\n[fetcher]\nallow_networks = ["10.0.0.0/8"]')
    )
    assert settings.frontier.delay == 2.0
    assert settings.frontier.batch == Settings().frontier.batch
    assert settings.fetcher.allow_networks == (ip_network("10.0.0.0/8"),)


def test_the_environment_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_FRONTIER__DELAY", "2.5")
    monkeypatch.setenv("GOSSAMER_PARSER__TEXT", "false")
    monkeypatch.setenv("GOSSAMER_FETCHER__ALLOW_NETWORKS", '["::1/128"]')
    settings = load_settings()
    assert (settings.frontier.delay, settings.parser.text) == (2.5, "off")
    assert settings.fetcher.allow_networks == (ip_network("::1/128"),)


def test_the_command_line_wins_over_environment_over_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, "[frontier]\ndelay = 1\nbatch = 11\nretries = 1\nhops_limit = 1")
    monkeypatch.setenv("GOSSAMER_FRONTIER__BATCH", "12")
    monkeypatch.setenv("GOSSAMER_FRONTIER__RETRIES", "2")
    frontier = load_settings(path, {"frontier": {"retries": 3}}).frontier
    assert (frontier.delay, frontier.hops_limit) == (1.0, 1), "the file"
    assert frontier.batch == 12, "the environment"
    assert frontier.retries == 3, "the command line"


def test_a_section_comes_from_everywhere_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one source says of a section leaves standing what another says of it."""
    path = file(tmp_path, '[fetcher]\ncontact = "a@b.example"\nallow_networks = ["10.0.0.0/8"]')
    monkeypatch.setenv("GOSSAMER_FETCHER__ALLOW_NETWORKS", '["::1/128"]')
    monkeypatch.setenv("GOSSAMER_FETCHER__CONCURRENCY", "7")
    monkeypatch.setenv("GOSSAMER_LOGS__LEVEL", "debug")
    settings = load_settings(path, {"fetcher": {"concurrency": 8}, "crawl": {"max_depth": 2}})
    assert settings.fetcher.contact == "a@b.example"
    assert settings.fetcher.allow_networks == (ip_network("::1/128"),), "lists are not joined"
    assert settings.fetcher.concurrency == 8
    assert settings.fetcher.model_fields_set == {"contact", "allow_networks", "concurrency"}
    assert (settings.logs.level, settings.crawl.max_depth) == ("debug", 2)


def test_the_environment_may_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_CONFIG", str(file(tmp_path, "[frontier]\nbatch = 11")))
    assert load_settings().frontier.batch == 11
    named = tmp_path / "named.toml"
    named.write_text("[frontier]\nretries = 1", encoding="utf-8")
    assert load_settings(named).frontier.batch == Settings().frontier.batch, "--config wins"


def test_scripts_have_variables_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_PYTHON", "python3")
    monkeypatch.setenv("GOSSAMER_VENV", "venv")
    monkeypatch.setenv("GOSSAMER_SERVERS", "/servers")
    monkeypatch.setenv("GOSSAMER_SUITES", "/suites")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[frontier]\ndely = 1", [r"frontier\.dely: there is no such setting"]),
        ("[frontear]\ndelay = 1", ["frontear: there is no such setting"]),
        ("[frontier]\ndely = 1\n[crawl]\nmax_depth = -1", [r"frontier\.dely", r"crawl\.max_depth"]),
        ("[Frontier]\ndelay = 1", ["Frontier: there is no such setting"]),
        ("[frontier]\nDelay = 1", [r"frontier\.Delay: there is no such setting"]),
        ("delay = 1", ["delay: there is no such setting"]),
        ("frontier = 5", [r"frontier: is a table of settings, \[frontier\]"]),
        ("[[frontier]]\ndelay = 1", ["frontier: is a table"]),
        ("[house]\npatience = 1", ["house: there is no such setting; .* standalone"]),
        ("[frontier", [r"gossamer\.toml cannot be read"]),
        ("[frontier]\ndelay = 1\ndelay = 2", [r"gossamer\.toml cannot be read"]),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, names: list[str]) -> None:
    with pytest.raises(BadSettings) as refused:
        load_settings(file(tmp_path, text))
    for name in names:
        assert re.search(name, str(refused.value))


def test_a_variable_of_old_names_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_HOUSE__PATIENCE", "1")
    with pytest.raises(BadSettings, match=r"GOSSAMER_HOUSE__PATIENCE .* standalone"):
        load_settings()


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    for path in (tmp_path / "nowhere.toml", tmp_path, tmp_path / "latin.toml"):
        with pytest.raises(BadSettings, match=path.name):
            load_settings(path)


@pytest.mark.parametrize(
    "name",
    [
        "GOSSAMER_FRONTIER__DELY",
        "GOSSAMER_FRONTEAR__DELAY",
        "GOSSAMER_FRONTIER",
        "GOSSAMER_FRONTIER_DELAY",
        "GOSSAMER_FRONTIER__DELAY__X",
        "GOSSAMER_DELAY",
    ],
)
def test_an_unknown_variable_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(BadSettings, match=rf"\b{name}\b"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("GOSSAMER_FRONTIER__DELAY", "soon", "frontier.delay: .* not 'soon'"),
        ("GOSSAMER_FRONTIER__DELAY", "", "frontier.delay"),
        ("GOSSAMER_FRONTIER__DELAY", "nan", "frontier.delay"),
        ("GOSSAMER_FRONTIER__DELAY", "-1", "frontier.delay"),
        ("GOSSAMER_FRONTIER__BATCH", "1.5", "frontier.batch"),
        ("GOSSAMER_FETCHER__ALLOW_NETWORKS", "10.0.0.0/8", r"fetcher.*\[\"10"),
        ("GOSSAMER_FETCHER__ALLOW_NETWORKS", '["10"]', r"fetcher\.allow_networks\.0: .*'10'"),
        ("GOSSAMER_LOGS__LEVEL", "loud", "logs.level"),
        ("GOSSAMER_CRAWL__SCOPE", "nonsense()", "scope: 'nonsense"),
    ],
)
def test_a_bad_variable_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings, match=named):
        load_settings()


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("crawl", "scope", "5"),
        ("crawl", "max_depth", -1),
        ("frontier", "delay", float("inf")),
        ("frontier", "delay", float("nan")),
        ("frontier", "delay", None),
        ("frontier", "batch", 0),
        ("frontier", "lease_slack", 0),
        ("fetcher", "concurrency", 0),
        ("fetcher", "connect_limit", 0),
        ("fetcher", "body_limit", -1),
        ("fetcher", "allow_networks", ["10.0.0.1/8"]),
        ("parser", "workers", -1),
        ("archive", "segment_size", 0),
        ("standalone", "patience", -1),
        ("standalone", "records_limit", -1),
        ("frontier", "history_age", 86399),
        ("frontier", "erasures_age", 86400),
        ("frontier", "parked_limit", 99),
        ("archive", "captures_age", 630_720_001),
        ("dedup", "documents_age", 60 * 86400),
        ("logs", "level", "WARNING"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(section: str, field: str, value: Any) -> None:
    with pytest.raises(BadSettings, match=field):
        load_settings(overrides={section: {field: value}})


def test_rows_may_be_kept_for_ever() -> None:
    ages = {"frontier": {"history_age": 0}, "archive": {"captures_age": 0}}
    assert load_settings(overrides=ages).frontier.history_age == 0


SECRET = "53123"
SPILLS = {
    "without quotes": "[kafka]\npassword = 53123",
    "beside another fault": f'[kafka]\npassword = "{SECRET}"\npasswort = "x"',
    "in a section that makes no sense": f'[kafka]\npassword = "{SECRET}"\nusername = "me"',
    "in a list": f'[kafka]\npassword = ["{SECRET}"]',
    "in a list of tables": f'[[kafka]]\npassword = "{SECRET}"',
    "in place of the section": f'kafka = "{SECRET}"',
}


@pytest.mark.parametrize("text", SPILLS.values(), ids=SPILLS)
def test_a_secret_is_in_no_message_and_no_traceback(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSettings, match="kafka") as refused:
        load_settings(file(tmp_path, text))
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_secret_in_the_environment_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_CASSANDRA__PASSWORD", SECRET)
    assert SECRET not in repr(load_settings())
    monkeypatch.setenv("GOSSAMER_CASSANDRA__CERT_FILE", "/no/such/file")
    monkeypatch.setenv("GOSSAMER_CASSANDRA__HOSTS", "a, b")
    with pytest.raises(BadSettings) as refused:
        load_settings()
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_settings_never_change() -> None:
    with pytest.raises(ValidationError):
        load_settings().frontier.delay = 5.0


@pytest.mark.parametrize("server", ["127.0.0.1", "192.0.2.1:5353", "[2001:db8::1]", "[::1]:53"])
def test_a_name_server_is_an_address(server: str) -> None:
    assert load_settings(overrides={"fetcher": {"nameserver": server}}).fetcher.nameserver == server


@pytest.mark.parametrize(
    "server",
    ["localhost", "nowhere:port", "192.0.2.1:99999", "192.0.2.1:0", "192.0.2.1/24", "x@192.0.2.1",
     "[::1", "192.0.2.1, 192.0.2.2"],
)  # fmt: skip
def test_a_name_server_that_is_no_address_is_refused(server: str) -> None:
    with pytest.raises(BadSettings, match=r"fetcher\.nameserver: "):
        load_settings(overrides={"fetcher": {"nameserver": server}})


@pytest.mark.parametrize("name", ["body_limit", "robots_limit"])
def test_a_body_must_fit_an_event(name: str) -> None:
    most = (PAGES_FETCHED.limit - (1 << 20)) // 4 * 3
    assert load_settings(None, {"fetcher": {name: most}})
    with pytest.raises(BadSettings, match=f"fetcher.{name}: .* {most}"):
        load_settings(None, {"fetcher": {name: most + 1}})
