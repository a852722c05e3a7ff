"""Keyword arguments are the options of `gossamer crawl`, and are checked at once."""

import inspect
from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.console.cli import crawl as command
from gossamer.console.cli.main import main
from gossamer.library.options import OPTIONS, words_of

OF_THE_LIBRARY = {"folder", "seeds", "settings", "quiet"}
"""Parameters that are not written as options of their names."""
OF_THE_COMMAND = {
    *("--help", "--data", "--seeds", "--strict-seeds", "--until-stdin-closes"),
    *("--quiet", "--verbose", "--json-logs", "--no-follow-irrelevant", "--explain"),
}
"""Options that the library uses itself, or that are about the output of the command."""


def option(name: str) -> str:
    return {"profile": "--for"}.get(name, f"--{name.replace('_', '-')}")


def test_every_argument_is_an_option_and_every_option_an_argument() -> None:
    parser = ArgumentParser()
    command.add_options(parser)
    options = {name for action in parser._actions for name in action.option_strings} - {"-h"}
    parameters = inspect.signature(gossamer.Crawl).parameters.keys()
    assert parameters - OF_THE_LIBRARY == OPTIONS.keys()
    assert {option(name) for name in OPTIONS} == options - OF_THE_COMMAND


def test_arguments_are_understood_by_the_command() -> None:
    parser = ArgumentParser()
    command.add_options(parser)
    words = words_of(
        {
            "contact": "you@example.org",
            "depth": 0,
            "max_pages": 5,
            "max_time": timedelta(minutes=2),
            "delay": 0.5,
            "allow_network": ["10.0.0.0/8", "127.0.0.0/8"],
            "purposes": ["search", "ai-input"],
            "follow_irrelevant": False,
            "no_text": True,
            "console": 8081,
            "relevant": "language('pt')",
            "crawl": None,
        }
    )
    found = vars(parser.parse_args(words))
    stated: dict[str, Any] = {
        "contact": "you@example.org",
        "max_depth": 0,
        "max_pages": 5,
        "max_time": 120.0,
        "delay": 0.5,
        "allow_network": ["10.0.0.0/8", "127.0.0.0/8"],
        "purposes": ("search", "ai-input"),
        "follow_irrelevant": False,
        "no_text": True,
        "console": 8081,
        "relevant": "language('pt')",
        "crawl": None,
    }
    assert {name: found[name] for name in stated} == stated


def test_crawl_reads_no_seeds_from_the_pipe_that_it_watches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--until-stdin-closes", "--seeds", "-", "--contact", "you@example.org"]
    assert main(["crawl", "--data", str(tmp_path / "data"), *words]) == 2
    assert "standard input" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_rules_are_passed_as_a_path() -> None:
    assert words_of({"rules": Path("my rules.py")}) == ["--rules=my rules.py"]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"dept": 3}, TypeError, "dept"),
        ({"depth": "3"}, TypeError, "depth must be a whole number, not '3'"),
        ({"depth": -1}, ValueError, "depth must be 0 or more"),
        ({"depth": True}, TypeError, "depth"),
        ({"max_pages": 0}, ValueError, "max_pages must be 1 or more"),
        ({"max_time": "soon"}, ValueError, "'soon' is not a duration"),
        ({"delay": -1.0}, ValueError, "frontier.delay"),
        ({"allow_network": "home"}, ValueError, "allow_networks"),
        ({"scope": "domain("}, ValueError, "scope"),
        ({"revisit": "often"}, ValueError, "crawl.revisit"),
        ({"strategy": "worst"}, ValueError, "crawl.strategy"),
        ({"external_links": "all"}, ValueError, "crawl.external_links"),
        ({"purposes": ["fun"]}, ValueError, "crawl.purposes"),
        ({"no_text": "yes"}, TypeError, "no_text must be True or False"),
        ({"metrics_port": 99999}, ValueError, "metrics_port must be a port"),
        ({"seeds": ["https://example.org/", "ftp://example.org/"]}, ValueError, "seed 2"),
        ({"seeds": 3}, TypeError, "seeds must be"),
        ({"settings": {"parser.markdwon": True}}, ValueError, "parser.markdwon: unknown setting"),
        ({"settings": {"parser": True}}, TypeError, "settings"),
        ({"settings": {"frontier": {"delay": "fast"}}}, ValueError, "frontier.delay"),
        ({"config": "/no/such/file"}, ValueError, "/no/such/file"),
    ],
)
def test_wrong_argument_is_named_at_once(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        gossamer.Crawl(tmp_path, **arguments)
    assert [*tmp_path.iterdir()] == []
