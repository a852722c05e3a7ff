"""Loading settings: precedence of the sources, and errors that name the setting."""

import re
import traceback
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gossamer.errors import BadSettings
from gossamer.extras import missing_modules
from gossamer.settings import Settings, load_settings


def file(folder: Path, text: str) -> Path:
    path = folder / "gossamer.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_settings_without_sources_are_the_defaults() -> None:
    assert load_settings() == Settings()
    assert load_settings().frontier.delay == 1.0


def test_file_overrides_defaults(tmp_path: Path) -> None:
    settings = load_settings(
        file(tmp_path, '[frontier]\ndelay = 2\n[fetcher]\nallow_networks = ["10.0.0.0/8"]')
    )
    assert settings.frontier.delay == 2.0
    assert settings.frontier.batch == Settings().frontier.batch
    assert settings.fetcher.allow_networks == (ip_network("10.0.0.0/8"),)


def test_environment_overrides_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_FRONTIER__DELAY", "2.5")
    monkeypatch.setenv("GOSSAMER_PARSER__TEXT", "off")
    monkeypatch.setenv("GOSSAMER_FETCHER__ALLOW_NETWORKS", '["::1/128"]')
    settings = load_settings()
    assert (settings.frontier.delay, settings.parser.text) == (2.5, "off")
    assert settings.fetcher.allow_networks == (ip_network("::1/128"),)


def test_command_line_overrides_environment_overrides_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, "[frontier]\ndelay = 1\nbatch = 11\nretries = 1\nhops_limit = 1")
    monkeypatch.setenv("GOSSAMER_FRONTIER__BATCH", "12")
    monkeypatch.setenv("GOSSAMER_FRONTIER__RETRIES", "2")
    frontier = load_settings(path, {"frontier": {"retries": 3}}).frontier
    assert (frontier.delay, frontier.hops_limit) == (1.0, 1), "the file"
    assert frontier.batch == 12, "the environment"
    assert frontier.retries == 3, "the command line"


def test_sources_are_merged_setting_by_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source replaces only the settings that it names, not their section."""
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


def test_environment_variable_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CONFIG", str(file(tmp_path, "[frontier]\nbatch = 11")))
    assert load_settings().frontier.batch == 11
    named = tmp_path / "named.toml"
    named.write_text("[frontier]\nretries = 1", encoding="utf-8")
    assert load_settings(named).frontier.batch == Settings().frontier.batch, (
        "--config takes precedence"
    )


def test_variables_of_scripts_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_PYTHON", "python3")
    monkeypatch.setenv("GOSSAMER_VENV", "venv")
    monkeypatch.setenv("GOSSAMER_SERVERS", "/servers")
    monkeypatch.setenv("GOSSAMER_SUITES", "/suites")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[frontier]\ndely = 1", [r"frontier\.dely: unknown setting"]),
        ("[frontear]\ndelay = 1", ["frontear: unknown setting"]),
        ("[frontier]\ndely = 1\n[crawl]\nmax_depth = -1", [r"frontier\.dely", r"crawl\.max_depth"]),
        ("[Frontier]\ndelay = 1", ["Frontier: unknown setting"]),
        ("[frontier]\nDelay = 1", [r"frontier\.Delay: unknown setting"]),
        ("delay = 1", ["delay: unknown setting"]),
        ("frontier = 5", [r"frontier: must be a table, \[frontier\]"]),
        ("[[frontier]]\ndelay = 1", ["frontier: must be a table"]),
        ("[frontier", [r"gossamer\.toml cannot be read"]),
        ("[frontier]\ndelay = 1\ndelay = 2", [r"gossamer\.toml cannot be read"]),
    ],
)
def test_invalid_file_raises_error_with_setting_name(
    tmp_path: Path, text: str, names: list[str]
) -> None:
    with pytest.raises(BadSettings) as caught:
        load_settings(file(tmp_path, text))
    for name in names:
        assert re.search(name, str(caught.value))


def test_unreadable_file_raises_error_with_file_name(tmp_path: Path) -> None:
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
def test_unknown_variable_raises_error_with_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
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
def test_invalid_variable_raises_error_with_setting_name(
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
        ("frontier", "report_age", 3600),
        ("frontier", "erasures_age", 86400),
        ("frontier", "parked_limit", 99),
        ("archive", "captures_age", 630_720_001),
        ("dedup", "documents_age", 60 * 86400),
        ("logs", "level", "WARNING"),
    ],
)
def test_invalid_value_raises_error_with_setting_name(section: str, field: str, value: Any) -> None:
    with pytest.raises(BadSettings, match=field):
        load_settings(overrides={section: {field: value}})


def test_requisites_without_a_number_for_each_page_are_refused() -> None:
    given = {"archive": {"requisites": "all"}, "parser": {"requisites_limit": 0}}
    with pytest.raises(
        BadSettings, match=r"^archive\.requisites: all needs parser\.requisites_limit"
    ):
        load_settings(overrides=given)
    given = {"archive": {"requisites": "all"}, "parser": {"fields": ["headings"]}}
    with pytest.raises(BadSettings, match=r"^archive\.requisites: all needs requisites among"):
        load_settings(overrides=given)
    assert load_settings(overrides={"archive": {"requisites": "all"}}).archive.requisites == "all"


def test_missing_extractor_is_refused_at_the_start() -> None:
    if not missing_modules("rust"):
        assert load_settings(overrides={"parser": {"text": "rust"}}).parser.text == "rust"
        return
    with pytest.raises(BadSettings, match=r"^parser\.text: rust: etrafilatura"):
        load_settings(overrides={"parser": {"text": "rust"}})


@pytest.mark.parametrize(("name", "value"), [("media", True), ("srcset", "all")])
def test_more_requisites_without_requisites_are_refused(name: str, value: object) -> None:
    with pytest.raises(BadSettings, match=rf"^archive\.{name}: needs archive\.requisites"):
        load_settings(overrides={"archive": {name: value}})
    load_settings(overrides={"archive": {name: value, "requisites": "same-site"}})


def test_zero_retention_means_no_expiry() -> None:
    ages = {"frontier": {"history_age": 0}, "archive": {"captures_age": 0}}
    assert load_settings(overrides=ages).frontier.history_age == 0


SECRET = "53123"
SECRET_EXPOSURES = {
    "without quotes": "[kafka]\npassword = 53123",
    "beside another error": f'[kafka]\npassword = "{SECRET}"\npasswort = "x"',
    "in an invalid section": f'[kafka]\npassword = "{SECRET}"\nusername = "me"',
    "in a list": f'[kafka]\npassword = ["{SECRET}"]',
    "in a list of tables": f'[[kafka]]\npassword = "{SECRET}"',
    "in place of the section": f'kafka = "{SECRET}"',
}


@pytest.mark.parametrize("text", SECRET_EXPOSURES.values(), ids=SECRET_EXPOSURES)
def test_errors_of_files_do_not_show_secrets(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSettings, match="kafka") as caught:
        load_settings(file(tmp_path, text))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_errors_of_environment_do_not_show_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_CASSANDRA__PASSWORD", SECRET)
    assert SECRET not in repr(load_settings())
    monkeypatch.setenv("GOSSAMER_CASSANDRA__CERT_FILE", "/no/such/file")
    monkeypatch.setenv("GOSSAMER_CASSANDRA__HOSTS", "a, b")
    with pytest.raises(BadSettings) as caught:
        load_settings()
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_settings_are_immutable() -> None:
    with pytest.raises(ValidationError):
        load_settings().frontier.delay = 5.0


@pytest.mark.parametrize("server", ["127.0.0.1", "192.0.2.1:5353", "[2001:db8::1]", "[::1]:53"])
def test_name_server_address_is_accepted(server: str) -> None:
    assert load_settings(overrides={"fetcher": {"nameserver": server}}).fetcher.nameserver == server


@pytest.mark.parametrize(
    "server",
    ["localhost", "nowhere:port", "192.0.2.1:99999", "192.0.2.1:0", "192.0.2.1/24", "x@192.0.2.1",
     "[::1", "192.0.2.1, 192.0.2.2"],
)  # fmt: skip
def test_invalid_name_server_is_refused(server: str) -> None:
    with pytest.raises(BadSettings, match=r"fetcher\.nameserver: "):
        load_settings(overrides={"fetcher": {"nameserver": server}})


@pytest.mark.parametrize("name", ["body_limit", "robots_limit"])
def test_body_limit_above_its_maximum_is_refused(name: str) -> None:
    limit = 500 << 10 if name == "robots_limit" else 64 << 20
    assert load_settings(None, {"fetcher": {name: limit}})
    with pytest.raises(BadSettings, match=f"fetcher.{name}: .* {limit}"):
        load_settings(None, {"fetcher": {name: limit + 1}})
