"""Invalid requests are reported before any file is written or host contacted."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.cli.main import main

CONTACT = ("--contact", "crawl-test@example.org")

RunRefused = Callable[..., str]
"""Runs `gossamer` with words, standard input and variables; returns its error message."""


@pytest.fixture
def run_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> RunRefused:
    """Return a function that runs the command in an empty folder and checks that it stays empty."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)

    def run(*words: str, stdin: str = "", code: int = 2, **environment: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert status(*words) == code
        out, err = capsys.readouterr()
        assert out == "" and err.strip()
        assert sorted(tmp_path.rglob("*")) == before, "it wrote something"
        return err

    return run


def status(*words: str) -> int:
    """The exit status, whether the parser or the command refuses."""
    try:
        return main(words)
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        return ended.code


def crawl(*options: str) -> tuple[str, ...]:
    return ("crawl", "--data", "nothing", "--allow-network", "127.0.0.0/8", *options)


def test_invalid_seeds_are_reported_with_their_lines(run_refused: RunRefused) -> None:
    lines = "http://a.example/\n\nmailto:x@a.example\n# fine\nhttp://\nhttp://b.example/\n"
    err = run_refused(*crawl(*CONTACT, "--seeds", "-", "--strict-seeds"), stdin=lines)
    assert "3: 'mailto:x@a.example'" in err and "5: 'http://'" in err
    assert "a.example/" not in err and "b.example" not in err


def test_crawl_without_contact_is_refused(run_refused: RunRefused) -> None:
    assert "--contact" in run_refused(*crawl("http://a.example/"))
    assert "'nobody'" in run_refused(*crawl("--contact", "nobody", "http://a.example/"))


def test_crawl_without_seeds_is_refused(run_refused: RunRefused) -> None:
    assert "seed" in run_refused(*crawl(*CONTACT))
    assert "seed" in run_refused(*crawl(*CONTACT, "--seeds", "-"), stdin="# none\n\n")


def test_missing_file_of_seeds_is_reported(run_refused: RunRefused) -> None:
    assert "no-such.txt" in run_refused(*crawl(*CONTACT, "--seeds", "no-such.txt"))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--dealy", "1"], "--dealy"),
        (["--max-pages", "0"], "--max-pages"),
        (["--max-pages", "many"], "--max-pages"),
        (["--max-time", "soon"], "--max-time"),
        (["--delay", "-1"], "delay"),
        (["--delay", "nan"], "delay"),
        (["--depth", "-1"], "--depth: '-1' is not a whole number ≥ 0"),
        (["--scope", "__import__('os')"], "scope"),
        (["--scope", "host('b.example')"], "http://a.example/"),
        (["--allow-network", "10.0.0.0/99"], "allow_networks"),
        (["--nameserver", "nowhere:port"], "nameserver"),
        (["--config", "no-such.toml"], "no-such.toml"),
    ],
)
def test_invalid_option_is_reported(
    run_refused: RunRefused, options: list[str], named: str
) -> None:
    assert named in run_refused(*crawl(*CONTACT, "http://a.example/", *options))


def test_invalid_network_is_reported_once(run_refused: RunRefused) -> None:
    err = run_refused("crawl", *CONTACT, "--allow-network", "localhost", "http://a.example/")
    assert err.count("localhost") == err.count("allow_networks") == 1


def test_unknown_setting_is_reported(run_refused: RunRefused) -> None:
    Path("own.toml").write_text("[frontier]\ndealy = 3\n")
    err = run_refused(*crawl(*CONTACT, "http://a.example/", "--config", "own.toml"))
    assert "frontier.dealy" in err


@pytest.mark.parametrize("name", ["GOSSAMER_FRONTIER__DEALY", "GOSSAMER_DELAY"])
def test_unknown_variable_is_reported(run_refused: RunRefused, name: str) -> None:
    assert name in run_refused(*crawl(*CONTACT, "http://a.example/"), **{name: "3"})


def test_unknown_command_is_reported(run_refused: RunRefused) -> None:
    assert "crwal" in run_refused("crwal")


@pytest.mark.parametrize("words", [("pages",), ("why", "http://a.example/")])
def test_folder_without_a_crawl_is_reported(
    run_refused: RunRefused, tmp_path: Path, words: tuple[str, ...]
) -> None:
    err = run_refused(*words, "--data", str(tmp_path), code=1)
    assert str(tmp_path) in err and "has no crawl" in err


@pytest.mark.parametrize("text", ["nonsense", "mailto:x@a.example", "http://"])
def test_why_reports_an_invalid_url(
    run_refused: RunRefused, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert main(["seed", "--data", "crawl", "http://a.example/"]) == 0
    capsys.readouterr()
    assert text in run_refused("why", "--data", "crawl", text)


@pytest.mark.parametrize("words", [("crawl", *CONTACT), ("seed",)])
def test_missing_classifier_is_reported(run_refused: RunRefused, words: tuple[str, ...]) -> None:
    relevant = 'not (type("image/*") or classifier("nosuch"))'
    said = run_refused(*words, "http://a.example/", "--relevant", relevant)
    assert "'nosuch'" in said and ": none" in said
