"""Profiles of `gossamer crawl --for`, and the settings that `--explain` prints."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from gossamer.inspection.basics.folder import Folder
from gossamer.settings import NO_PROFILE, PROFILES, load_settings

SEED = "https://example.org/"
Explain = Callable[..., str]


@pytest.fixture
def explain(data: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """Return what `gossamer crawl --explain` prints with further options."""

    def run(*options: str) -> str:
        capsys.readouterr()
        assert main(["crawl", "--data", str(data), "--explain", *options]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def seeded(data: Path) -> Folder:
    assert main(["seed", "--data", str(data), SEED]) == 0
    return Folder(data)


def sources(text: str) -> dict[str, str]:
    """Return the settings that are not defaults, each as a line of TOML, with their sources."""
    lines = (line.partition("  # ") for line in text.splitlines() if not line.startswith("#"))
    return {line.strip(): source for line, _, source in lines if source not in ("", "default")}


@pytest.mark.parametrize("profile", PROFILES)
def test_explained_settings_are_those_of_a_settings_file(
    explain: Explain, data: Path, profile: str, tmp_path: Path
) -> None:
    shown = explain("--for", profile, SEED)
    (tmp_path / "shown.toml").write_text(shown)
    assert load_settings(tmp_path / "shown.toml") == load_settings(profile=profile)
    found = tomllib.loads(shown)
    for section, fields in PROFILES[profile].settings.items():
        for field, value in fields.items():
            assert found[section][field] == (list(value) if isinstance(value, tuple) else value)
    assert not data.exists()


def test_profile_is_below_file_environment_and_options(
    explain: Explain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "g.toml"
    file.write_text('[archive]\nrequisites = "same-site"\n[parser]\ntext = "fast"\n')
    monkeypatch.setenv("GOSSAMER_FETCHER__TYPES", '["text/*"]')
    given = ("--config", str(file), "--purposes", "search,archive", "--no-text")
    assert sources(explain("--for", "archive", *given)) == {
        'purposes = ["search", "archive"]': "option --purposes",
        'types = ["text/*"]': "environment GOSSAMER_FETCHER__TYPES",
        "body_limit = 20971520": "profile archive",
        'text = "off"': "option --no-text",
        'requisites = "same-site"': f"file {file}",
    }


def test_options_with_fixed_values_are_sources(explain: Explain) -> None:
    found = sources(explain("--rules-strict", "--no-text", "--json-logs"))
    assert found == {
        "rules_strict = true": "option --rules-strict",
        'text = "off"': "option --no-text",
        'level = "info"': "option --json-logs",
        "json_lines = true": "option --json-logs",
    }


def test_folder_remembers_its_profile_and_keeps_what_its_crawl_was_changed_to(
    seeded: Folder, explain: Explain
) -> None:
    seeded.set_profile("watch")
    changes = ("--depth", "3", "--revisit", "fixed:1d")
    assert main(["seed", "--data", str(seeded.path), *changes]) == 0
    found = sources(explain())
    kept = f"the crawl in {seeded.path}"
    assert (found["max_depth = 3"], found['revisit = "fixed:1d"']) == (kept, kept)
    assert sources(explain("--depth", "2"))["max_depth = 2"] == "option --depth"
    other = sources(explain("--for", "rag"))
    assert other["markdown = true"] == "profile rag"
    assert other['purposes = ["search", "ai-input"]'] == "profile rag", "a new profile is applied"
    assert "markdown = true" not in sources(explain("--for", NO_PROFILE))


def test_snapshot_has_the_profile(seeded: Folder, tmp_path: Path) -> None:
    seeded.set_profile("archive")
    copy, target = tmp_path / "copy", Folder(tmp_path / "restored")
    assert main(["snapshot", str(copy), "--data", str(seeded.path)]) == 0
    assert main(["restore", str(copy), "--data", str(target.path)]) == 0
    assert target.profile() == "archive"
