"""Parts of a crawl's definition that no option of a command names stay as they are."""

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, fields, replace

from gossamer.console.cli.main import main
from gossamer.crawl import last_definition
from gossamer.events import CrawlDefined, Party, SeedsApplied
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.progress.progress import End, Progress
from gossamer.log.codec import encode
from gossamer.rules import identify_rules
from gossamer.standalone.run import prepare_run

SEED = "http://a.example/"
KEEP, FOLLOW = (
    str(Path(__file__).parent / "rules" / name) for name in ("keep_pages.py", "follow_links.py")
)


def digest_of(rules: str) -> str:
    """Return the digest of a rules file, which is a part of the definition."""
    crawl = CrawlDefined(at=0.0, scope="any()", max_depth=1, rules=rules)
    return identify_rules(crawl).rules_digest


OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "scope": (
        ("--scope", "host('a.example', 'b.example')"),
        {"scope": "host('a.example', 'b.example')", "scope_of_seeds": ""},
    ),
    "max_depth": (("--depth", "3"), {"max_depth": 3}),
    "external_links": (("--external-links", "none"), {}),
    "relevant": (("--relevant", 'type("text/plain")'), {}),
    "follow_irrelevant": (("--follow-irrelevant",), {"follow_irrelevant": True}),
    "strategy": (("--strategy", "sample"), {}),
    "purposes": (("--purposes", "ai-input"), {"purposes": ("ai-input",)}),
    "usage_disallowed": (("--usage-disallowed", "do not fetch"), {}),
    "usage_unknown": (("--usage-unknown", "fetch"), {}),
    "rules": (("--rules", FOLLOW), {"rules": FOLLOW, "rules_digest": digest_of(FOLLOW)}),
    "revisit": (("--revisit", "fixed:2d"), {}),
    "budget": (("--budget", "20"), {"budget": 20.0}),
    "discovery_share": (("--discovery-share", "0.25"), {"discovery_share": 0.25}),
}
"""Option → its arguments and the fields that it changes; by default, the field of its name to its
value."""
OF_THE_COMMAND = {
    "crawl": {
        "allow_network", "config", "console", "contact", "crawl", "data", "delay", "explain",
        "json_logs", "max_time", "metrics_port", "nameserver", "no_text", "profile", "quiet",
        "rules_strict", "seeds", "seeds_file", "strict_seeds", "until_stdin_closes", "verbose",
    },
    "seed": {
        "config", "crawl", "data", "dry_run", "file", "party", "priority", "reason", "seeds",
        "strict_seeds",
    },
}  # fmt: skip
"""Options that are not about the definition of a crawl."""
OF_THE_RUN = {"max_pages"}
"""Options of a run that the definition carries: a run without them has no such limit."""
DEFINED = CrawlDefined(
    crawl="news",
    at=1.0,
    scope="host('a.example')",
    scope_of_seeds="host",
    max_depth=2,
    max_pages=7,
    pages_before=5,
    paused=True,
    weight=2.0,
    share_for=60.0,
    own_topic=True,
    revisit="fixed:1d",
    budget=10.0,
    discovery_share=0.5,
    url_steps=("tracking",),
    external_links="home",
    relevant='type("text/html")',
    follow_irrelevant=False,
    strategy="breadth",
    rules=KEEP,
    rules_digest=digest_of(KEEP),
    purposes=("archive",),
    usage_disallowed="fetch and do not publish",
    usage_unknown="fetch and do not publish",
    parties={"blogs": Party(max_depth=1)},
)
"""A definition in which each field has a value of its own."""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose runs of `gossamer crawl` end before any process starts."""

    def prepare_only(settings: Any, folder: Folder, request: Any, change: Any, *_: Any) -> Any:
        prepare_run(settings, folder.create(), request, change, 0.0, has_console=False)
        return End.TIME, Progress()

    monkeypatch.setattr("gossamer.console.cli.crawling.run_crawl", prepare_only)
    # The trial of rules starts a parser process.
    monkeypatch.setattr("gossamer.services.parser.wiring.check_rules", lambda settings, name: [])
    return tmp_path / "data"


def run(command: str, data: Path, *arguments: str) -> CrawlDefined:
    """Run *command*, and return the definition of the crawl then."""
    always = {"crawl": ("--contact", "a@a.example", "--quiet")}.get(command, ())
    assert main([command, "--data", str(data), "--crawl", "news", *always, *arguments]) == 0
    found = last_definition(Folder(data).open().log, "news")
    assert found
    return found


def store(data: Path, definition: CrawlDefined, has_file: bool) -> None:
    """Define a crawl, and an active one beside it, so that the folder may run."""
    opened = Folder(data).create()
    other = CrawlDefined(crawl="other", at=1.0, scope="any()", max_depth=1)
    opened.log.append([encode(definition), encode(other)])
    if has_file:
        opened.log.append([encode(SeedsApplied(crawl="news", at=1.0, seeds={"": (SEED,)}))])


def without_time(crawl: CrawlDefined) -> dict[str, Any]:
    return {name: value for name, value in asdict(crawl).items() if name != "at"}


def test_each_field_of_the_definition_has_a_value_of_its_own() -> None:
    defaults = CrawlDefined(at=0.0, scope="", max_depth=16)
    alike = {one.name for one in fields(CrawlDefined)}
    alike = {name for name in alike if getattr(DEFINED, name) == getattr(defaults, name)}
    assert alike == {"version", "removed"}


@pytest.mark.parametrize("command", ["crawl", "seed"])
def test_each_option_is_about_the_definition_or_about_the_command(command: str) -> None:
    parser = argparse.ArgumentParser()
    import_module(f"gossamer.console.cli.{command}").add_options(parser)
    of_the_run = OF_THE_RUN if command == "crawl" else set()
    assert {*vars(parser.parse_args([]))} == {*OPTIONS, *OF_THE_COMMAND[command], *of_the_run}


@pytest.mark.parametrize("has_file", [True, False])
@pytest.mark.parametrize("command", ["crawl", "seed"])
def test_command_without_options_leaves_the_definition_equal(
    data: Path, command: str, has_file: bool
) -> None:
    crawl = DEFINED if has_file else replace(DEFINED, max_pages=0, pages_before=0)
    store(data, crawl, has_file)
    assert run(command, data, SEED) == crawl


@pytest.mark.parametrize("has_file", [True, False])
@pytest.mark.parametrize("command", ["crawl", "seed"])
@pytest.mark.parametrize("option", OPTIONS)
def test_option_changes_its_part_of_the_definition_alone(
    data: Path, command: str, option: str, has_file: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, changes = OPTIONS[option]
    changes = changes or {option: arguments[1]}
    crawl = DEFINED if has_file else replace(DEFINED, max_pages=0, pages_before=0)
    store(data, crawl, has_file)
    assert without_time(run(command, data, SEED, *arguments)) == without_time(crawl) | changes
    capsys.readouterr()
    assert main(["audit", "--data", str(data), "--crawl", "news"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name} " in shown for name in changes)


@pytest.mark.parametrize("option", OPTIONS)
def test_crawl_that_was_started_with_an_option_continues_with_it(data: Path, option: str) -> None:
    before = run("crawl", data, SEED, *OPTIONS[option][0])
    assert run("crawl", data) == before
    assert run("seed", data, SEED) == before


def test_settings_do_not_change_a_crawl_of_a_file(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "gossamer.toml"
    file.write_text('[crawl]\nmax_depth = 9\nscope = "any()"\nexternal_links = "deep"\n')
    store(data, DEFINED, has_file=True)
    assert run("crawl", data, "--config", str(file)) == DEFINED


def test_page_limit_is_of_the_run(data: Path) -> None:
    assert run("crawl", data, SEED, "--max-pages", "3").page_limit == 3
    assert run("crawl", data).page_limit == 0


def test_first_run_and_a_run_that_changes_nothing_are_not_recorded(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("crawl", data, SEED, "--depth", "1")
    run("crawl", data, SEED)
    capsys.readouterr()
    assert main(["audit", "--data", str(data), "--crawl", "news"]) == 1
    assert "No change matches" in capsys.readouterr().out
