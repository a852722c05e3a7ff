"""`gossamer seed`: the events that it appends, and the arguments that it refuses."""

from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.events import CrawlDefined, Party, SeedAdded
from inspection.basics.folder import Folder
from tests.runtime.processors import events


class SeedCommand:
    """`gossamer seed` on one folder."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data, self._capsys = data, capsys

    def __call__(self, *arguments: str, status: int = 0) -> str:
        """Run the command; return its output."""
        assert main(["seed", "--data", str(self.data), *arguments]) == status
        shown = self._capsys.readouterr()
        assert bool(shown.err) == bool(status)
        return shown.err if status else shown.out

    def seeds(self) -> list[tuple[str, int]]:
        log = Folder(self.data).open().log
        found = [event for event in events(log, "seeds") if isinstance(event, SeedAdded)]
        return sorted((seed.url, seed.priority) for seed in found)

    def crawl(self) -> CrawlDefined:
        (crawl,) = events(Folder(self.data).open().log, "control")
        assert isinstance(crawl, CrawlDefined)
        return crawl


@pytest.fixture
def seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> SeedCommand:
    """Return the command on a folder that does not exist yet."""
    return SeedCommand(tmp_path / "data", capsys)


def test_first_seeds_define_the_crawl(seed: SeedCommand) -> None:
    shown = seed("http://www.a.example/x#y", "b.example")
    assert "2 seeds" in shown and str(seed.data) in shown
    assert "Scope: domain('a.example', 'b.example'), 16 links deep" in shown
    assert seed.seeds() == [("http://www.a.example/x", 0), ("https://b.example/", 0)]
    crawl = seed.crawl()
    assert (crawl.max_depth, crawl.paused, crawl.max_pages) == (16, False, 0)
    assert crawl.at > 0


def test_later_seeds_keep_the_definition(seed: SeedCommand) -> None:
    seed("http://a.example/", "--depth", "3")
    before = seed.crawl()
    assert "(unchanged): domain('a.example'), 3 links deep" in seed("http://www.a.example/2")
    assert seed.crawl() == before
    assert len(seed.seeds()) == 2


def test_seed_out_of_scope_is_refused_with_the_rule(seed: SeedCommand) -> None:
    seed("http://a.example/")
    shown = seed("http://a.example/2", "http://b.example/", status=2)
    assert "http://b.example/ is out of scope" in shown and "domain('a.example')" in shown
    assert "--scope" in shown
    assert [url for url, _ in seed.seeds()] == ["http://a.example/"], "none of them"
    assert "out of scope" in seed("http://b.example/", "--depth", "2", status=2)
    assert seed.crawl().max_depth == 16


def test_scope_and_depth_change_the_definition(seed: SeedCommand) -> None:
    seed("http://a.example/")
    both = "domain('a.example', 'b.example')"
    assert f"(changed): {both}, 16" in seed("http://b.example/", "--scope", both)
    assert "(changed): any(), 0 links" in seed("c.example", "--scope", "any", "--depth", "0")
    assert "domain('a.example', 'd.example')" in seed("a.example", "d.example", "--scope", "site")
    assert "host('www.d.example')" in seed("www.d.example", "--scope", "host")
    assert seed.crawl().max_depth == 0


def test_seeds_of_a_file_have_the_priority(seed: SeedCommand, tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# some\nhttp://a.example/1\n\nhttp://a.example/2\n")
    seed("http://a.example/0", "--file", str(file), "--priority", "-5")
    assert seed.seeds() == [(f"http://a.example/{n}", -5) for n in range(3)]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "at least one seed"),
        (["http://a.example/", "--priority", "101"], "from -100 to 100"),
        (
            ["mailto:a@a.example"],
            "'mailto:a@a.example' is not a URL to visit: only http: and https:",
        ),
        (["http://a.example/", "nonsense"], "nonsense"),
        (["--file", "/no/such/file"], "/no/such/file"),
        (["http://a.example/", "--scope", "host("], "host("),
        (["http://a.example/", "--scope", "domain('b.example')"], "out of scope"),
        (["http://a.example/", "--config", "/no/such.toml"], "/no/such.toml"),
    ],
)
def test_invalid_arguments_change_nothing(
    seed: SeedCommand, arguments: list[str], named: str
) -> None:
    assert named in seed(*arguments, status=2)
    seed("http://c.example/")
    assert seed.seeds() == [("http://c.example/", 0)]
    assert seed.crawl().scope == "domain('c.example')"


def test_revisits_change_the_definition(seed: SeedCommand) -> None:
    assert "Revisits: none: each page is visited once." in seed("http://a.example/")
    shown = seed("--revisit", "optimal", "--budget", "5000", "--discovery-share", "0.25")
    assert shown.startswith("0 seeds added") and "Scope (unchanged)" in shown
    assert "(changed): optimal, at most 5,000 visits a day, 25 % of them for new URLs" in shown
    crawl = seed.crawl()
    assert (crawl.revisit, crawl.budget, crawl.discovery_share) == ("optimal", 5000.0, 0.25)
    assert "Revisits (unchanged): optimal" in seed("http://a.example/2")
    assert "fixed:12h, no budget" in seed("--revisit", "fixed:12h", "--budget", "0")
    assert (seed.crawl().revisit, seed.crawl().scope) == ("fixed:12h", "domain('a.example')")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--revisit", "often"], "'often' is not a revisit policy: choose from none, fixed"),
        (["--revisit", "fixed:1y"], "'1y' is not a duration such as 90m"),
        (["--revisit", "optimal:1d"], "optimal:1d"),
        (["--budget", "-1"], "crawl.budget"),
        (["--discovery-share", "2"], "crawl.discovery_share"),
    ],
)
def test_invalid_revisits_change_nothing(
    seed: SeedCommand, arguments: list[str], named: str
) -> None:
    seed("http://a.example/", "--revisit", "fixed:1d")
    assert named in seed(*arguments, status=2)
    assert seed.crawl().revisit == "fixed:1d"


def test_crawl_refuses_an_invalid_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    words = ["crawl", "--data", str(data), "--contact", "a@a.example", "http://a.example/"]
    assert main([*words, "--revisit", "nonsense"]) == 2
    said = capsys.readouterr().err
    assert "crawl.revisit: 'nonsense' is not a revisit policy: choose from none, fixed" in said
    assert not data.exists()


def test_scope_and_depth_of_the_settings_hold_for_a_new_crawl(
    seed: SeedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("[crawl]\nscope = \"host('a.example')\"\nmax_depth = 2\n")
    assert "out of scope" in seed("http://www.a.example/", "--config", str(file), status=2)
    seed("http://a.example/", "--config", str(file))
    assert (seed.crawl().scope, seed.crawl().max_depth) == ("host('a.example')", 2)


def test_party_has_its_own_scope_and_depth(seed: SeedCommand) -> None:
    seed("http://a.example/", "--scope", "any")
    shown = seed(
        "http://b.example/", "--party", "news", "--scope", "site", "--depth", "2",
        "--external-links", "none",
    )  # fmt: skip
    assert "Party news: domain('b.example'), 2 links deep, links to other sites: none." in shown
    assert "Scope (unchanged): any(), 16 links deep" in shown
    crawl = seed.crawl()
    assert crawl.parties == {"news": Party("domain('b.example')", 2, "none")}
    assert (crawl.scope, crawl.max_depth, crawl.external_links) == ("any()", 16, "deep")
    seed("--party", "news", "--depth", "3")
    assert seed.crawl().parties == {"news": Party("domain('b.example')", 3, "none")}
    shown = seed("http://c.example/", "--party", "news", status=2)
    assert "http://c.example/ is out of the party's scope: domain('b.example')" in shown


def test_new_definition_keeps_parties_and_choices(seed: SeedCommand) -> None:
    seed("http://a.example/", "--party", "one", "--depth", "1", "--relevant", "language('pt')")
    seed("http://a.example/2", "--depth", "9", "--external-links", "home")
    seed("--no-follow-irrelevant")
    crawl = seed.crawl()
    assert (crawl.max_depth, crawl.parties["one"].max_depth) == (9, 1)
    assert (crawl.relevant, crawl.follow_irrelevant) == ("language('pt')", False)
    assert crawl.external_links == "home"


def test_invalid_expression_is_refused(seed: SeedCommand) -> None:
    shown = seed("http://a.example/", "--relevant", "language(pt)", status=2)
    assert "relevant: 'language(pt)' is not valid" in shown
    assert "crawl.url_steps" not in shown


def test_purposes_change_the_definition(seed: SeedCommand) -> None:
    seed("http://a.example/")
    before = seed.crawl()
    assert (before.purposes, before.usage_disallowed) == (("search",), "do not fetch")
    seed("--purposes", "search, train-ai", "--usage-disallowed", "fetch and do not publish")
    crawl = seed.crawl()
    assert crawl.purposes == ("search", "train-ai")
    assert (crawl.usage_disallowed, crawl.usage_unknown) == ("fetch and do not publish", "fetch")
    seed("--purposes", "")
    assert seed.crawl().purposes == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--purposes", "training"), "crawl.purposes: 'training' is not one of"),
        (
            ("--usage-disallowed", "fetch", "--usage-unknown", "do not fetch"),
            "crawl.usage_unknown: 'do not fetch' is stricter",
        ),
    ],
)
def test_impossible_purposes_are_refused(
    seed: SeedCommand, arguments: tuple[str, ...], message: str
) -> None:
    assert message in seed("http://a.example/", *arguments, status=2)
