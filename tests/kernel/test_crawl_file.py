"""Crawl files: their keys, their errors, and what applying one changes."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.crawl import accept
from gossamer.crawl_file import (
    IMMUTABLE,
    KEYS,
    MAX_SEED_BYTES,
    CrawlFile,
    compare,
    line_of,
    parse_crawl_file,
    write_crawl_file,
)
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, Party, SeedAdded, SeedsApplied
from gossamer.log.codec import encode
from gossamer.web.scope import parse_scope
from gossamer.web.url_steps import ALL_STEPS
from gossamer.web.usage import CATEGORIES

A = "https://a.example/"
FULL = """\
id = "news"
seeds = ["a.example", "https://b.example/x"]
priority = -5
weight = 2
share_for = "90m"
scope = 'domain("a.example", "b.example", "c.example")'
strategy = "seeds_first"
external_links = "none"
url_steps = ["session_id"]

[limits]
max_pages = 1000
max_depth = 4

[revisit]
policy = "fixed:1d"
budget = 500
discovery_share = 0.2

[output]
topic = "own"
relevant = 'language("pt")'
follow_irrelevant = false
purposes = ["search", "archive"]
usage_disallowed = "fetch and do not publish"
usage_unknown = "fetch"

[parties.c]
seeds = ["https://c.example/"]
scope = "host"
max_depth = 1
external_links = "home"

[parties.plain]
seeds = ["https://a.example/plain"]
"""


STATE_FIELDS = frozenset(
    {
        "version",
        "crawl",
        "at",
        "pages_before",
        "paused",
        "removed",
        "parties",
        "rules_digest",
        "scope_of_seeds",
    }
)
"""Fields of a definition without a key."""


def parse(text: str, name: str = "news.toml", policy: str = "none") -> CrawlFile:
    return parse_crawl_file(text, Path(name), policy)


def refusal(text: str) -> str:
    with pytest.raises(BadSettings) as raised:
        parse(text)
    return str(raised.value)


def test_every_field_of_a_definition_is_a_key_or_state() -> None:
    assert {*KEYS, *STATE_FIELDS} == {*CrawlDefined.__struct_fields__}
    assert not STATE_FIELDS & KEYS.keys()


def test_rules_of_a_file_are_relative_to_it_and_applied_again_when_they_change(
    tmp_path: Path,
) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text("def keep(page): return True\n")
    text, path = f'{SEED}rules = "rules.py"', tmp_path / "news.toml"
    before = parse_crawl_file(text, path, "none")
    assert before.definition.rules == str(rules)
    again = parse_crawl_file(text, path, "none")
    assert again.events(before.definition, before.seeds, 1.0) == []
    rules.write_text("def keep(page): return False\n")
    changed = parse_crawl_file(text, path, "none")
    [event] = changed.events(before.definition, before.seeds, 1.0)
    assert isinstance(event, CrawlDefined) and event.rules_digest != before.definition.rules_digest
    with pytest.raises(BadSettings, match=r"rules: only a local file may name one: name a module"):
        parse_crawl_file(text, path, "none", reads_files=False)
    with pytest.raises(BadSettings, match=r"line 2: rules: .*nosuch.py cannot be read: No such"):
        parse(f'{SEED}rules = "nosuch.py"')


def test_file_states_the_whole_crawl() -> None:
    file = parse(FULL)
    assert file.definition == CrawlDefined(
        crawl="news", at=0.0, scope="domain(\"a.example\", \"b.example\", \"c.example\")",
        max_depth=4, max_pages=1000, weight=2.0, share_for=5400.0, own_topic=True,
        revisit="fixed:1d", budget=500.0, discovery_share=0.2, url_steps=("session_id",),
        external_links="none", relevant='language("pt")', follow_irrelevant=False,
        strategy="seeds-first", purposes=("search", "archive"),
        usage_disallowed="fetch and do not publish", usage_unknown="fetch",
        parties={"c": Party("host('c.example')", 1, "home")},
    )  # fmt: skip
    accept(file.definition)
    assert file.seeds == SeedsApplied(
        crawl="news",
        at=0.0,
        seeds={
            "": (A, "https://b.example/x"),
            "c": ("https://c.example/",),
            "plain": ("https://a.example/plain",),
        },
        priority=-5,
    )


def test_smallest_file_needs_a_seed_only() -> None:
    found = parse('seeds = ["a.example"]', "blogs.toml", "optimal").definition
    assert (found.crawl, found.scope, found.revisit) == ("blogs", "domain('a.example')", "optimal")
    assert (found.max_depth, found.url_steps) == (16, ALL_STEPS)
    assert found.share_for == 3600.0
    assert parse('seeds = ["a.example"]\nshare_for = 0').definition.share_for == 0.0


def test_seeds_of_a_file_beside_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("# some\na.example\n\nhttp://b.example/\n")
    path, text = tmp_path / "news.toml", 'seeds_file = "seeds.txt"'
    assert parse_crawl_file(text, path, "none").seeds.seeds == {"": (A, "http://b.example/")}
    (tmp_path / "seeds.txt").write_text("\ufeffa.example\nftp://b.example/\n", encoding="utf-8")
    found = parse_crawl_file(text, path, "none")
    assert found.seeds.seeds == {"": (A,)}
    (invalid,) = found.invalid_seeds
    assert "seeds.txt, line 2: 'ftp://b.example/'" in invalid
    (tmp_path / "seeds.txt").write_text("ftp://b.example/\n")
    with pytest.raises(BadSettings, match=r"seeds\.txt, line 1: .*ftp"):
        parse_crawl_file(text, path, "none")
    with pytest.raises(BadSettings, match=r"line 1: seeds_file: .*none\.txt cannot be read"):
        parse_crawl_file('seeds_file = "none.txt"', path, "none")


def test_text_from_another_machine_names_no_file_of_this_one() -> None:
    with pytest.raises(BadSettings, match="list the seeds in seeds"):
        parse_crawl_file('seeds_file = "/etc/passwd"', Path("x.toml"), "none", reads_files=False)


SEED = 'seeds = ["a.example"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{SEED}seed = 1", "line 2: seed: unknown key; did you mean seeds?"),
        (f"{SEED}[limits]\nmax_page = 1", "line 3: limits.max_page: unknown key; did you mean max"),
        (f"{SEED}limits = {{ pages = 1 }}", "line 2: limits.pages: unknown key; "),
        (f"{SEED}delay = 0.1", "line 2: delay: unknown key; the keys are id, seeds"),
        (f"{SEED}\n[parties.b]\ndepth = 1", "line 4: parties.b.depth: unknown key; did you mean"),
        (f"{SEED}[limits]\nmax_depth = -1", "line 3: limits.max_depth: expected a whole number >="),
        (f'{SEED}weight = "big"', "line 2: weight: expected a number, got text"),
        (f"{SEED}weight = 0", "line 2: weight: expected a number >= 0.001"),
        (f"{SEED}weight = inf", "line 2: weight: expected a number <= 1000"),
        (f"{SEED}[revisit]\nbudget = inf", "line 3: revisit.budget: expected a number <= 1"),
        (f"{SEED}[limits]\nmax_pages = {10**20}", "line 3: limits.max_pages: expected a whole"),
        (f'{SEED}share_for = "long"', "line 2: share_for: 'long' is not a duration such as 90m"),
        (f'{SEED}share_for = "2d"', "line 2: share_for: 2d is longer than a day"),
        (
            f"{SEED}share_for = 1.5",
            'line 2: share_for: expected a duration such as "1h", or 0, got',
        ),
        (f"{SEED}share_for = 60", "line 2: share_for: 60 has no unit: write a duration"),
        (f"{SEED}priority = 101", "line 2: priority: expected a whole number <= 100"),
        (f'{SEED}id = "My News"', "line 2: id: 'My News' is not the id of a crawl"),
        (f'{SEED}scope = "domain("', "line 2: scope: "),
        (
            f"{SEED}scope = 'host(\"b.example\")'",
            "line 2: scope: seed https://a.example/ is out of",
        ),
        (f'{SEED}strategy = "depth"', "line 2: strategy: 'depth' is not a strategy"),
        (f'{SEED}external_links = "all"', "line 2: external_links: choose from deep, home, comb"),
        (f'{SEED}url_steps = ["all"]', "line 2: url_steps: unknown step 'all'"),
        (f'{SEED}[revisit]\npolicy = "often"', "line 3: revisit.policy: 'often' is not a revisit"),
        (f"{SEED}[revisit]\ndiscovery_share = 2", "line 3: revisit.discovery_share: expected"),
        (f'{SEED}[output]\ntopic = "mine"', "line 3: output.topic: choose from shared, own"),
        (f'{SEED}[output]\nrelevant = "nice("', "line 3: output.relevant: not an expression"),
        (f'{SEED}[output]\npurposes = ["fun"]', "line 3: output.purposes: 'fun' is not one of"),
        (
            f'{SEED}[output]\npurposes = ["search"]\nusage_unknown = "skip"',
            "line 4: output.usage_unknown: 'skip' is not one of",
        ),
        (
            f'{SEED}[parties.b]\nexternal_links = "all"',
            "line 3: parties.b.external_links: choose from deep, home",
        ),
        (f'{SEED}[parties.""]\nmax_depth = 1', "parties: '' is not the name of a party"),
        (f"{SEED}x = {'[' * 100_000}", "news.toml: too many lists or tables within each other"),
        ('seeds = [\n  "a.example",\n  "ftp://x",\n]', "line 3: seeds: "),
        ("weight = 1", "name a seed, or a scope"),
        ('scope = "site"', "line 1: scope: name a seed, or a scope"),
        (f'{SEED}[parties.b]\nscope = "host"', "line 3: parties.b.scope: name seeds of the party"),
        (
            f"{SEED}[parties.b]\nseeds = ['a.example/b']\nscope = 'host(\"c.example\")'",
            "line 4: parties.b.scope: seed https://a.example/b is out of the party's scope",
        ),
        ("seeds = [", "news.toml: "),
    ],
)
def test_error_names_the_key_and_its_line(text: str, message: str) -> None:
    assert message in refusal(text)
    assert refusal(text).startswith("news.toml")


def test_refused_name_of_the_file_shows_how_to_state_an_id() -> None:
    with pytest.raises(BadSettings, match=r"'my_news' is not the id .* add a line such as id ="):
        parse(SEED, "my_news.toml")


def test_byte_order_mark_of_an_editor_is_ignored() -> None:
    assert parse(f"\ufeff{SEED}") == parse(SEED)


def test_message_shows_the_beginning_of_a_long_expression() -> None:
    assert len(refusal(f"{SEED}scope = '{'(' * 100_000}'")) < 500


def test_too_many_seeds_are_refused_with_the_remedy() -> None:
    seeds = ", ".join(f'"https://a.example/{n:040d}"' for n in range(MAX_SEED_BYTES // 50))
    assert "gossamer seed --crawl ID --file FILE" in refusal(f"seeds = [{seeds}]")


def test_applying_a_file_defines_the_crawl_and_then_changes_nothing() -> None:
    file = parse(FULL)
    defined, *seeds, applied = file.events(None, None, 5.0)
    assert defined == replace(file.definition, at=5.0)
    assert [(one.url, one.party, one.priority) for one in seeds if isinstance(one, SeedAdded)] == [
        (A, "", -5),
        ("https://b.example/x", "", -5),
        ("https://c.example/", "c", -5),
        ("https://a.example/plain", "plain", -5),
    ]
    assert isinstance(defined, CrawlDefined) and isinstance(applied, SeedsApplied)
    assert {one.crawl for one in (defined, *seeds, applied)} == {"news"}
    assert file.events(defined, applied, 9.0) == []


def test_changed_file_adds_only_new_seeds_and_keeps_the_pause() -> None:
    before = parse('seeds = ["a.example"]')
    after = parse('seeds = ["a.example/2", "a.example"]\nweight = 2')
    paused = replace(before.definition, paused=True)
    defined, seed, applied = after.events(paused, before.seeds, 5.0)
    assert isinstance(defined, CrawlDefined) and (defined.paused, defined.weight) == (True, 2.0)
    assert isinstance(seed, SeedAdded) and seed.url == "https://a.example/2"
    assert applied == replace(after.seeds, at=5.0)
    assert [*before.events(defined, after.seeds, 9.0)][1:] == [replace(before.seeds, at=9.0)]


@pytest.mark.parametrize("changed", ['url_steps = ["session_id"]', '[output]\ntopic = "own"'])
def test_immutable_key_is_refused(changed: str) -> None:
    before = parse(SEED).definition
    with pytest.raises(BadSettings, match="cannot change during a crawl"):
        parse(f"{SEED}{changed}").events(before, None, 5.0)
    assert len(IMMUTABLE) == 2


def test_removed_crawl_is_not_defined_again() -> None:
    removed = replace(parse(SEED).definition, removed=True)
    with pytest.raises(BadSettings, match="an id is used only once"):
        parse(SEED).events(removed, None, 5.0)


def test_page_limit_of_a_run_is_compared_as_the_limit_of_the_crawl() -> None:
    of_run = replace(parse(SEED).definition, pages_before=40, max_pages=60)
    assert [*compare(of_run, parse(f"{SEED}[limits]\nmax_pages = 100").definition)] == []
    (changed,) = compare(of_run, parse(f"{SEED}[limits]\nmax_pages = 60").definition)
    assert changed == ("limits.max_pages", 100, 60)


texts = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.floats(0, 1e9, allow_subnormal=False)
limits = st.builds(
    Party,
    st.sampled_from(["", "any()", "domain('a.example')"]),
    st.none() | st.integers(0, 99),
    st.sampled_from(["", "home", "none"]),
).filter(lambda party: party != Party())
names = st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True)
definitions = st.builds(
    CrawlDefined,
    crawl=names,
    at=st.just(0.0),
    scope=st.sampled_from(["any()", "domain('a.example')", 'pattern("é\\"#")  or any()']),
    max_depth=st.integers(0, 99),
    max_pages=st.integers(0, 10**9),
    weight=st.floats(0.001, 1000),
    share_for=st.integers(0, 86400).map(float),
    own_topic=st.booleans(),
    revisit=st.sampled_from(["none", "fixed:1d", "optimal"]),
    budget=numbers,
    discovery_share=st.none() | st.floats(0, 1),
    url_steps=st.sets(st.sampled_from(ALL_STEPS)).map(
        lambda steps: tuple(step for step in ALL_STEPS if step in steps)
    ),
    external_links=st.sampled_from(["deep", "home", "combined", "none"]),
    relevant=st.sampled_from(["", 'language("pt")']),
    follow_irrelevant=st.booleans(),
    strategy=st.sampled_from(["", "best"]),
    purposes=st.lists(st.sampled_from([*CATEGORIES]), unique=True).map(tuple),
    parties=st.dictionaries(names, limits, max_size=2),
)
urls = st.lists(st.integers(0, 99).map(lambda n: f"{A}{n}"), unique=True, min_size=1, max_size=9)
seed_lists = st.dictionaries(st.just("") | names, urls.map(tuple), max_size=3)


@given(definitions, seed_lists, st.integers(-100, 100))
def test_written_file_is_read_as_the_same_crawl(
    crawl: CrawlDefined, seeds: dict[str, tuple[str, ...]], priority: int
) -> None:
    applied = SeedsApplied(crawl=crawl.crawl, at=0.0, seeds=seeds, priority=priority)
    text = write_crawl_file(crawl, applied)
    found = parse(text)
    assert found.definition == crawl, text
    assert found.seeds == applied, text
    assert found.events(crawl, applied, 5.0) == []
    assert encode(found.definition)


@given(texts, texts)
def test_line_of_any_text_is_one_of_its_lines(text: str, key: str) -> None:
    line = line_of(f"{text}\n{key} = 1", key)
    assert line is None or 1 <= line <= len(f"{text}\n{key} = 1".splitlines())


def test_documented_file_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_rules.py").write_text("def keep(page): return True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    page = Path(__file__).parents[2] / "docs" / "recipes" / "several-crawls.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        assert parse_scope(parse(block).definition.scope)
    tables = [tomllib.loads(block) for block in blocks]
    documented = {name for table in tables for name in table} | {
        f"{name}.{key}"
        for table in tables
        for name, value in table.items()
        if isinstance(value, dict)
        for key in value
    }
    assert documented >= {*KEYS.values(), "id", "seeds", "seeds_file", "priority", "parties.blogs"}
