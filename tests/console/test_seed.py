"""`gossamer seed`: the events that it appends, and the arguments that it refuses."""

from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from gossamer.events import CrawlDefined, Party, SeedAdded
from tests.console.gossamer import Gossamer


@pytest.fixture
def seed(gossamer: Gossamer) -> Gossamer:
    return gossamer.command("seed")


def seeds(seed: Gossamer) -> list[tuple[str, int]]:
    found = [event for event in seed.events("seeds") if isinstance(event, SeedAdded)]
    return sorted((event.url, event.priority) for event in found)


def crawl_of(seed: Gossamer) -> CrawlDefined:
    (crawl,) = seed.events("control")
    assert isinstance(crawl, CrawlDefined)
    return crawl


def test_first_seeds_define_the_crawl(seed: Gossamer) -> None:
    seed("http://www.a.example/x#y", "b.example")
    assert seeds(seed) == [("http://www.a.example/x", 0), ("https://b.example/", 0)]
    crawl = crawl_of(seed)
    assert (crawl.max_depth, crawl.paused, crawl.max_pages) == (16, False, 0)
    assert crawl.at > 0


def test_later_seeds_keep_the_definition(seed: Gossamer) -> None:
    seed("http://a.example/", "--depth", "3")
    before = crawl_of(seed)
    seed("http://www.a.example/2")
    assert crawl_of(seed) == before
    assert len(seeds(seed)) == 2


def test_seed_out_of_scope_is_refused_with_the_rule(seed: Gossamer) -> None:
    seed("http://a.example/")
    seed("http://a.example/2", "http://b.example/", status=2)
    assert [url for url, _ in seeds(seed)] == ["http://a.example/"], "none of them"
    seed("http://b.example/", "--depth", "2", status=2)
    assert crawl_of(seed).max_depth == 16


def test_scope_and_depth_change_the_definition(seed: Gossamer) -> None:
    seed("http://a.example/")
    both = "domain('a.example', 'b.example')"
    seed("http://b.example/", "--scope", both)
    seed("c.example", "--scope", "any", "--depth", "0")
    seed("a.example", "d.example", "--scope", "site")
    seed("www.d.example", "--scope", "host")
    assert crawl_of(seed).max_depth == 0


def test_seeds_of_a_file_have_the_priority(seed: Gossamer, tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# some\nhttp://a.example/1\n\nhttp://a.example/2\n")
    seed("http://a.example/0", "--file", str(file), "--priority", "-5")
    assert seeds(seed) == [(f"http://a.example/{n}", -5) for n in range(3)]


ISI = """\
$ORIGIN ISI.EDU.
@   IN  SOA     VENERA      Action\\.domains (
                                 20     ; SERIAL
                                 7200   ; REFRESH
                                 600    ; RETRY
                                 3600000; EXPIRE
                                 60)    ; MINIMUM

        NS      A.ISI.EDU.
        NS      VENERA
        NS      VAXA
        MX      10      VENERA
        MX      20      VAXA

A       A       26.3.0.103

VENERA  A       10.1.0.52
        A       128.9.0.32

VAXA    A       10.2.0.27
        A       128.9.0.33

$INCLUDE <SUBSYS>ISI-MAILBOXES.TXT
"""
"""The example of RFC 1035, 5.3, with the origin that its text names."""
TLD = """\
example.\t86400\tin\tsoa\tns.nic.example. host.nic.example. 1 2 3 4 5
b.example.\t172800\tin\tns\tns1.host.example.
b.example.\t172800\tin\tns\tns2.host.example.
b.example.\t86400\tin\tds\t1 8 2 AB
c.example.\t172800\tin\tns\tns1.host.example.
*.example.\t172800\tin\ta\t192.0.2.1
"""
"""The form in which registries publish zones of top-level domains (CZDS)."""


def test_names_of_a_zone_are_seeds(seed: Gossamer, tmp_path: Path) -> None:
    (tmp_path / "isi.zone").write_text(ISI)
    (tmp_path / "example.zone").write_text(TLD)
    seed("--scope", "any", "--file", str(tmp_path / "isi.zone"))
    seed("--file", str(tmp_path / "example.zone"))
    names = "a.isi.edu", "b.example", "c.example", "isi.edu", "vaxa.isi.edu", "venera.isi.edu"
    assert [url for url, _ in seeds(seed)] == [f"https://{name}/" for name in names]


def test_invalid_lines_are_reported_and_the_other_seeds_are_added(
    seed: Gossamer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "\ufeffhttp://a.example/{0}1\nnonsense\nhttp://a.example/{0}2\nftp://a.example/\n"
    file = tmp_path / "seeds.txt"
    file.write_text(lines.format("f"), encoding="utf-8")
    seed("--file", str(file), "--strict-seeds", status=2)
    assert not seed.data.exists()
    seed("--file", str(file))
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(lines.format("s").encode())))
    seed("--file", "-")
    assert seeds(seed) == [(f"http://a.example/{name}", 0) for name in ("f1", "f2", "s1", "s2")]


def test_list_without_a_valid_line_is_refused(seed: Gossamer, tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("".join(f"nonsense {number}\n" for number in range(22)))
    seed("--file", str(file), status=2)
    assert not seed.data.exists()


def test_invalid_arguments_change_nothing(seed: Gossamer) -> None:
    for arguments in (
        [],
        ["http://a.example/", "--priority", "101"],
        ["mailto:a@a.example"],
        ["http://a.example/", "nonsense"],
        ["--file", "/no/such/file"],
        ["http://a.example/", "--scope", "host("],
        ["http://a.example/", "--scope", "domain('b.example')"],
        ["http://a.example/", "--config", "/no/such.toml"],
        ["http://a.example/", "--relevant", "language(pt)"],
        ["http://a.example/", "--purposes", "training"],
        ["http://a.example/", "--usage-disallowed", "fetch", "--usage-unknown", "do not fetch"],
    ):
        seed(*arguments, status=2)
    seed("http://c.example/")
    assert seeds(seed) == [("http://c.example/", 0)]
    assert crawl_of(seed).scope == "domain('c.example')"


def test_revisits_change_the_definition(seed: Gossamer) -> None:
    seed("http://a.example/")
    seed("--revisit", "optimal", "--budget", "5000", "--discovery-share", "0.25")
    crawl = crawl_of(seed)
    assert (crawl.revisit, crawl.budget, crawl.discovery_share) == ("optimal", 5000.0, 0.25)
    seed("http://a.example/2")
    seed("--revisit", "fixed:12h", "--budget", "0")
    assert (crawl_of(seed).revisit, crawl_of(seed).scope) == ("fixed:12h", "domain('a.example')")


def test_invalid_revisits_change_nothing(seed: Gossamer) -> None:
    seed("http://a.example/", "--revisit", "fixed:1d")
    for arguments in (
        ["--revisit", "often"],
        ["--revisit", "fixed:1y"],
        ["--revisit", "optimal:1d"],
        ["--budget", "-1"],
        ["--discovery-share", "2"],
    ):
        seed(*arguments, status=2)
    assert crawl_of(seed).revisit == "fixed:1d"


def test_scope_and_depth_of_the_settings_hold_for_a_new_crawl(
    seed: Gossamer, tmp_path: Path
) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("[crawl]\nscope = \"host('a.example')\"\nmax_depth = 2\n")
    seed("http://www.a.example/", "--config", str(file), status=2)
    seed("http://a.example/", "--config", str(file))
    assert (crawl_of(seed).scope, crawl_of(seed).max_depth) == ("host('a.example')", 2)


def test_party_has_its_own_scope_and_depth(seed: Gossamer) -> None:
    seed("http://a.example/", "--scope", "any")
    seed(
        "http://b.example/", "--party", "news", "--scope", "site", "--depth", "2",
        "--external-links", "none",
    )  # fmt: skip
    crawl = crawl_of(seed)
    assert crawl.parties == {"news": Party("domain('b.example')", 2, "none")}
    assert (crawl.scope, crawl.max_depth, crawl.external_links) == ("any()", 16, "deep")
    seed("--party", "news", "--depth", "3")
    assert crawl_of(seed).parties == {"news": Party("domain('b.example')", 3, "none")}
    seed("http://c.example/", "--party", "news", status=2)


def test_new_definition_keeps_parties_and_choices(seed: Gossamer) -> None:
    seed("http://a.example/", "--party", "one", "--depth", "1", "--relevant", "language('pt')")
    seed("http://a.example/2", "--depth", "9", "--external-links", "home")
    seed("--no-follow-irrelevant")
    crawl = crawl_of(seed)
    assert (crawl.max_depth, crawl.parties["one"].max_depth) == (9, 1)
    assert (crawl.relevant, crawl.follow_irrelevant) == ("language('pt')", False)
    assert crawl.external_links == "home"


def test_purposes_change_the_definition(seed: Gossamer) -> None:
    seed("http://a.example/")
    before = crawl_of(seed)
    assert (before.purposes, before.usage_disallowed) == (("search",), "do not fetch")
    seed("--purposes", "search, train-ai", "--usage-disallowed", "fetch and do not publish")
    crawl = crawl_of(seed)
    assert crawl.purposes == ("search", "train-ai")
    assert (crawl.usage_disallowed, crawl.usage_unknown) == ("fetch and do not publish", "fetch")
    seed("--purposes", "")
    assert crawl_of(seed).purposes == ()
