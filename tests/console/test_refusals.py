"""Invalid requests are reported before any file is written or host contacted."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from tests.support.transcripts import Transcript

CONTACT = ("--contact", "crawl-test@example.org")
CRAWL = ("crawl", "--data", "nothing", "--allow-network", "127.0.0.0/8")
SEED = "http://a.example/"

Refused = Callable[..., None]
"""Runs `gossamer` with words, standard input and variables."""


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transcript: Transcript) -> Refused:
    """Return a function that runs the command in an empty folder and checks that it stays empty."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)

    def run(*words: str, stdin: str = "", status: int = 2, **environment: str) -> None:
        before = sorted(tmp_path.rglob("*"))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with monkeypatch.context() as patched:
            for name, value in environment.items():
                patched.setenv(name, value)
            transcript(*words, status=status)
        assert sorted(tmp_path.rglob("*")) == before, "it wrote something"

    return run


def test_crawl_without_valid_seeds_or_contact_is_refused(refused: Refused) -> None:
    lines = "http://a.example/\n\nmailto:x@a.example\n# fine\nhttp://\nhttp://b.example/\n"
    refused(*CRAWL, *CONTACT, "--seeds", "-", "--strict-seeds", stdin=lines)
    refused(*CRAWL, *CONTACT, "--seeds", "-", stdin="# none\n\n")
    refused(*CRAWL, *CONTACT, "--seeds", "no-such.txt")
    refused(*CRAWL, *CONTACT)
    refused(*CRAWL, SEED)
    refused(*CRAWL, "--contact", "nobody", SEED)


def test_invalid_options_are_reported(refused: Refused) -> None:
    for options in (
        ["--dealy", "1"],
        ["--max-pages", "0"],
        ["--max-pages", "many"],
        ["--max-time", "soon"],
        ["--delay", "-1"],
        ["--delay", "nan"],
        ["--depth", "-1"],
        ["--scope", "__import__('os')"],
        ["--scope", "host('b.example')"],
        ["--allow-network", "10.0.0.0/99"],
        ["--allow-network", "localhost"],
        ["--nameserver", "nowhere:port"],
        ["--config", "no-such.toml"],
        ["--revisit", "nonsense"],
    ):
        refused(*CRAWL, *CONTACT, SEED, *options)


def test_unknown_settings_variables_and_commands_are_reported(refused: Refused) -> None:
    Path("own.toml").write_text("[frontier]\ndealy = 3\n")
    refused(*CRAWL, *CONTACT, SEED, "--config", "own.toml")
    for name in ("GOSSAMER_FRONTIER__DEALY", "GOSSAMER_DELAY"):
        refused(*CRAWL, *CONTACT, SEED, **{name: "3"})
    refused("crwal")


def test_folder_without_a_crawl_is_reported(refused: Refused, tmp_path: Path) -> None:
    for words in (("pages",), ("why", SEED)):
        refused(*words, "--data", str(tmp_path), status=1)


def test_why_reports_an_invalid_url(refused: Refused) -> None:
    assert main(["seed", "--data", "crawl", SEED]) == 0
    for text in ("nonsense", "mailto:x@a.example", "http://"):
        refused("why", "--data", "crawl", text)
