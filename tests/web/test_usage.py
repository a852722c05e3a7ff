"""Statements about usage: each reader by a table, and judgements by an independent truth."""

from itertools import product

import msgspec
import pytest

from gossamer.errors import BadSettings
from gossamer.settings import CrawlSettings
from gossamer.web.robots import parse_robots
from gossamer.web.structured import BadField, Item, Token, parse_dictionary
from gossamer.web.usage import (
    ACTIONS,
    CATEGORIES,
    READERS,
    Action,
    Judgement,
    Source,
    Statement,
    is_reserved,
    judge,
    limit_statements,
    policy_of,
    read_headers,
    read_meta,
)

PRODUCT = "Gossamer"
Y, N = True, False
USAGE, SIGNAL, TAG, TDM = "Content-Usage", "Content-Signal", "X-Robots-Tag", "TDM-Reservation"
MINING = ("train-ai", "ai-input")


# Header, value → what it says.
HEADERS: list[tuple[str, str, dict[str, bool]]] = [
    (USAGE, "train-ai=n", {"train-ai": N}),
    (USAGE, "train-ai=y", {"train-ai": Y}),
    (USAGE, "train-ai=n, search=y", {"train-ai": N, "search": Y}),
    (USAGE, "train-ai=n\t,\t search=n", {"train-ai": N, "search": N}),
    (USAGE, "  search=n  ", {"search": N}),
    (USAGE, "train-ai=y, train-ai=n", {"train-ai": N}),
    (USAGE, "train-ai=n, train-ai=y", {"train-ai": Y}),
    (USAGE, "train-ai=n, train-ai", {}),
    (USAGE, 'search="n"', {}),
    (USAGE, "search=?0", {}),
    (USAGE, "search=N", {}),
    (USAGE, "search=no", {}),
    (USAGE, "Search=n", {}),
    (USAGE, "SEARCH=n, train-ai=n", {}),
    (USAGE, "search=n,", {}),
    (USAGE, "search=n train-ai=n", {}),
    (USAGE, "*x train-ai=n", {}),
    (USAGE, "train-ai=n;by=lawyer;x=1.5, search=y", {"train-ai": N, "search": Y}),
    (USAGE, "train-ai;has;parameters=\"?\", search=n", {"search": N}),
    (USAGE, "foo=(1 \"two\" three);q=@1, search=n", {"search": N}),
    (USAGE, "foo=:AA==:, bar=%\"f%c3%bc\", search=n", {"search": N}),
    (USAGE, "tdm=n, bots=n, train-genai=n", {}),
    (USAGE, "ai-input=n", {}),
    (USAGE, "", {}),
    (SIGNAL, "search=yes, ai-train=no", {"search": Y, "train-ai": N}),
    (SIGNAL, "search=yes,ai-train=no,use=reference", {"search": Y, "train-ai": N}),
    (SIGNAL, "AI-Input = No", {"ai-input": N}),
    (SIGNAL, "ai-train=no, ai-train=yes", {"train-ai": N}),
    (SIGNAL, "ai-train=n", {}),
    (SIGNAL, "train-ai=no", {}),
    (SIGNAL, "nonsense", {}),
    (TDM, "1", dict.fromkeys(MINING, N)),
    (TDM, " 1 ", dict.fromkeys(MINING, N)),
    (TDM, "0", dict.fromkeys(MINING, Y)),
    (TDM, "2", {}),
    (TDM, "yes", {}),
    ("tdm-policy", "https://example.org/policy.json", {}),
    (TAG, "noindex", {"search": N}),
    (TAG, "none", {"search": N}),
    (TAG, "NoArchive", {"archive": N}),
    (TAG, "nosnippet", {"ai-input": N}),
    (TAG, "max-snippet: 0", {"ai-input": N}),
    (TAG, "max-snippet:20", {}),
    (TAG, "noai", dict.fromkeys(MINING, N)),
    (TAG, "noimageai", dict.fromkeys(MINING, N)),
    (TAG, "noindex, noarchive, noai", dict.fromkeys(("search", "archive", *MINING), N)),
    (TAG, "gossamer: noai", dict.fromkeys(MINING, N)),
    (TAG, "otherbot: noai", {}),
    (TAG, "index, follow, all", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "says"), HEADERS)
def test_header_says(name: str, value: str, says: dict[str, bool]) -> None:
    statements = read_headers(((name, value),), PRODUCT)
    found = {category: said for one in statements for category, said in one.says.items()}
    assert found == says
    for one in statements:
        assert (one.source, one.text) == (Source.HEADER, value.strip())
        assert one.place.lower() == name.lower()


@pytest.mark.parametrize(("name", "value", "says"), [row for row in HEADERS if row[0] == USAGE])
def test_line_of_robots_txt_says_the_same_as_the_header(
    name: str, value: str, says: dict[str, bool]
) -> None:
    body = f"User-agent: *\n\n{name}: /a {value}\n".encode()
    found = parse_robots(body, PRODUCT, 0.0, 1.0).rules.usage_of("https://a.test/a")
    assert [one.says for one in found] == ([says] if value else [])
    for one in found:
        assert (one.source, one.place) == (Source.ROBOTS, "line 3")


@pytest.mark.parametrize(
    ("name", "value", "says"), [row for row in HEADERS if row[0] not in (USAGE, SIGNAL)]
)
def test_meta_element_says_the_same_as_the_header(
    name: str, value: str, says: dict[str, bool]
) -> None:
    meta = "robots" if name == TAG else name
    found = [one.says for one in read_meta([(meta, value)], PRODUCT)]
    assert found == ([] if name == TAG and not says else [says])


def test_meta_element_with_our_name_is_read() -> None:
    (statement,) = read_meta([("GOSSAMER", "noai"), ("otherbot", "noindex")], PRODUCT)
    assert str(statement) == "meta gossamer: noai"


def test_header_lines_are_separate_statements() -> None:
    lines = ((USAGE, "train-ai=n"), (USAGE, "train-ai=y"), (USAGE, "malformed,"))
    found = read_headers(lines, PRODUCT)
    assert [one.says for one in found] == [{"train-ai": N}, {"train-ai": Y}, {}]
    assert judge(found)["train-ai"] == Judgement(False, (found[0],))


def test_every_reader_has_a_reference() -> None:
    assert all(reader.reference and reader.name == reader.place.lower() for reader in READERS)


# Whether nothing, yes or no is stated in each of the places, and the judgement: no before yes.
VALUES: dict[str, dict[str, str]] = {
    "robots": {"-": "", "y": "Content-Usage: train-ai=y", "n": "Content-Usage: train-ai=n"},
    "signal": {"-": "", "y": "Content-Signal: ai-train=yes", "n": "Content-Signal: ai-train=no"},
    "header": {"-": "", "y": "train-ai=y", "n": "train-ai=n"},
    "meta": {"-": "", "y": "0", "n": "1"},
}


@pytest.mark.parametrize(("robots", "signal", "header", "meta"), list(product("-yn", repeat=4)))
def test_most_restrictive_statement_wins(robots: str, signal: str, header: str, meta: str) -> None:
    body = f"User-agent: *\n{VALUES['robots'][robots]}\n{VALUES['signal'][signal]}\n".encode()
    statements = [
        *parse_robots(body, PRODUCT, 0.0, 1.0).rules.usage_of("https://a.test/"),
        *read_headers(((USAGE, VALUES["header"][header]),), PRODUCT),
        *read_meta([("tdm-reservation", VALUES["meta"][meta])], PRODUCT),
    ]
    stated = robots + signal + header + meta
    expected = {"n": False, "y": True, "-": None}[min(stated.replace("-", "z")).replace("z", "-")]
    judgement = judge(statements)["train-ai"]
    assert judgement.allowed is expected
    deciding = {False: "n", True: "y", None: "?"}[expected]
    assert len(judgement.by) == stated.count(deciding)
    assert judge(reversed(statements))["train-ai"].allowed is expected


def test_judgement_of_each_category_is_unknown_without_statements() -> None:
    assert judge(()) == {category.value: Judgement(None, ()) for category in CATEGORIES}


def test_too_many_statements_keep_those_that_disallow() -> None:
    many = [Statement(Source.HEADER, USAGE, str(n), {"search": True}) for n in range(100)]
    no = Statement(Source.HEADER, USAGE, "no", {"search": False})
    kept = limit_statements([*many, no])
    assert (len(kept), kept[0]) == (50, no)
    assert limit_statements(many[:50]) == tuple(many[:50])


def test_reservation_of_a_file_counts_as_one() -> None:
    reserved = Statement(Source.TDMREP, "entry 2", "1", {"train-ai": False, "ai-input": False})
    assert is_reserved([reserved])
    assert not is_reserved(read_headers(((TDM, "0"), (TAG, "noai")), PRODUCT))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=1, b=1.5, c=-2", {"a": "", "b": "", "c": ""}),
        ("a=1.2345", {}),
        ("a=1234567890123456", {}),
        ("a=(b c);d", {"a": ""}),
        ("a=(b", {}),
        ("a=b;  c=d ,e=f", {"a": "b", "e": "f"}),
        ("a =b", {}),
        ("a= b", {}),
        ("a=b c=d", {}),
        (",a=b", {}),
        ("A=b", {}),
        ("1=b", {}),
        ('a="x\\"y", b=c', {"a": "", "b": "c"}),
        ('a="\xe9"', {}),
        ("a=b;C", {}),
        ('a=@1659578233, b=%"f%c3%bc", c=d', {"a": "", "b": "", "c": "d"}),
        ("a=@1.5", {}),
    ],
)
def test_dictionary_is_parsed_strictly(text: str, expected: dict[str, str]) -> None:
    try:
        members = parse_dictionary(text)
    except BadField:
        members = {}
    tokens = {
        name: one.value if isinstance(one, Item) and type(one.value) is Token else ""
        for name, one in members.items()
    }
    assert tokens == expected


def decide(purposes: str, disallowed: Action, unknown: Action, **allowed: bool) -> Action:
    crawl = CrawlSettings(
        purposes=tuple(purposes.split()),
        usage_disallowed=disallowed.value,
        usage_unknown=unknown.value,
    )
    judgements = judge(
        Statement(Source.HEADER, USAGE, name, {name.replace("_", "-"): value})
        for name, value in allowed.items()
    )
    return policy_of(crawl).decide(judgements).action


@pytest.mark.parametrize(
    ("purposes", "disallowed", "unknown", "allowed", "expected"),
    [
        ("search", Action.SKIP, Action.FETCH, {}, Action.FETCH),
        ("search", Action.SKIP, Action.FETCH, {"search": False}, Action.SKIP),
        ("search", Action.SKIP, Action.FETCH, {"train_ai": False}, Action.FETCH),
        ("search train-ai", Action.SKIP, Action.FETCH, {"train_ai": False}, Action.SKIP),
        ("search", Action.HIDE, Action.FETCH, {"search": False}, Action.HIDE),
        ("search", Action.FETCH, Action.FETCH, {"search": False}, Action.FETCH),
        ("search", Action.SKIP, Action.HIDE, {}, Action.HIDE),
        ("search", Action.SKIP, Action.HIDE, {"search": True}, Action.FETCH),
        ("search ai-input", Action.SKIP, Action.HIDE, {"search": True}, Action.HIDE),
        ("search ai-input", Action.SKIP, Action.HIDE, {"search": False}, Action.SKIP),
        ("search", Action.SKIP, Action.SKIP, {}, Action.SKIP),
        ("", Action.SKIP, Action.SKIP, {"search": False}, Action.FETCH),
    ],
)  # fmt: skip
def test_policy_takes_the_strictest_action_of_all_purposes(
    purposes: str, disallowed: Action, unknown: Action, allowed: dict[str, bool], expected: Action
) -> None:
    assert decide(purposes, disallowed, unknown, **allowed) is expected


def test_decision_names_the_statement() -> None:
    policy = policy_of(CrawlSettings(purposes=("train-ai",), usage_unknown="do not fetch"))
    decided = policy.decide(judge(read_headers(((USAGE, "train-ai=n"),), PRODUCT)))
    assert decided.reason == "header Content-Usage: train-ai=n"
    assert policy.decide(judge(())).reason == "no statement allows train-ai"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"purposes": ("training",)}, "crawl.purposes: 'training' is not one of 'search'"),
        ({"purposes": ("search", "search")}, "crawl.purposes: 'search' is there twice"),
        ({"usage_disallowed": "skip"}, "crawl.usage_disallowed: 'skip' is not one of 'fetch'"),
        ({"usage_unknown": ""}, "crawl.usage_unknown: '' is not one of 'fetch'"),
        (
            {"usage_disallowed": "fetch", "usage_unknown": "do not fetch"},
            "crawl.usage_unknown: 'do not fetch' is stricter than crawl.usage_disallowed",
        ),
    ],
)
def test_impossible_setting_is_refused_by_name(fields: dict[str, object], message: str) -> None:
    with pytest.raises(BadSettings, match="crawl") as refused:
        CrawlSettings(**fields)  # type: ignore[arg-type]
    assert message in str(refused.value)


def test_actions_are_ordered_by_strictness() -> None:
    assert ACTIONS == ("fetch", "fetch and do not publish", "do not fetch")


def test_statements_and_judgements_survive_encoding() -> None:
    judgements = judge(read_headers(((USAGE, "train-ai=n, search=y"),), PRODUCT))
    encoded = msgspec.json.encode(judgements)
    assert msgspec.json.decode(encoded, type=dict[str, Judgement]) == judgements
