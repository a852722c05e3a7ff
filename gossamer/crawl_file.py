"""Crawl files: a crawl as a TOML file, which `gossamer crawls apply` makes the active definition.

    id = "news"                          # default: the name of the file
    seeds = ["https://example.org/"]     # or seeds_file = "seeds.txt", a URL a line
    scope = "site"
    weight = 2.0

    [limits]
    max_pages = 100000

    [revisit]
    policy = "optimal"
    budget = 5000

    [output]
    relevant = 'language("pt")'

    [parties.blogs]
    seeds = ["https://blog.example.org/"]
    max_depth = 2

`docs/recipes/several-crawls.md` lists all keys. Unlike settings, a file states the whole crawl: a
missing key has its default, whatever an earlier file said. An unknown key or an impossible value is
refused with its line. Politeness is not a matter of a crawl, so a file has no key for it.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct, convert
from msgspec.structs import fields, replace

from gossamer.bounds import NO_PARTY
from gossamer.crawl import (
    BYTE_ORDER_MARK,
    SCOPES,
    canonical_of_typed,
    check_id,
    check_not_removed,
    check_scope,
    decode_list,
    define_party,
    new_scope,
    read_seed_list,
    scope_of_seeds,
)
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, Event, Party, SeedAdded, SeedsApplied
from gossamer.events.control import DEFAULT_DEPTH, MAX_SHARE_SECONDS
from gossamer.events.records import Priority
from gossamer.policies import duration_of, duration_text, parse_policy, parse_strategy
from gossamer.relevance import parse_relevance
from gossamer.rules import identify_rules, is_file
from gossamer.web.scope import parse_scope
from gossamer.web.url_steps import ALL_STEPS, check_steps
from gossamer.web.usage import Action, Category, policy_of

MAX_SEED_BYTES = 500_000
"""Bytes of all seeds of a file, which are one record on the topic `control`."""
MAX_NUMBER = 10**12
"""The largest limit. JSON has no infinity, and not all readers have larger whole numbers."""
Weight = Annotated[float, Meta(ge=0.001, le=1000)]
"""Beyond these limits a crawl would starve, or starve all others."""
MAX_PARTY_NAME = 100
"""Characters."""
Natural = Annotated[int, Meta(ge=0, le=MAX_NUMBER)]
ExternalLinks = Literal["deep", "home", "combined", "none"]
T = TypeVar("T", bound=Struct)


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. `docs/recipes/several-crawls.md` explains the keys."""


class LimitsTable(_Table, frozen=True, kw_only=True):
    """The table `limits`."""

    max_pages: Natural = 0
    """Maximum number of pages of the crawl, over all runs. 0 means no limit."""
    max_depth: Natural = DEFAULT_DEPTH


class RevisitTable(_Table, frozen=True, kw_only=True):
    """The table `revisit`."""

    policy: str = ""
    budget: Annotated[float, Meta(ge=0, le=MAX_NUMBER)] = 0.0
    discovery_share: Annotated[float, Meta(ge=0, le=1)] | None = None


class OutputTable(_Table, frozen=True, kw_only=True):
    """The table `output`."""

    topic: Literal["shared", "own"] = "shared"
    relevant: str = ""
    follow_irrelevant: bool = True
    purposes: tuple[str, ...] = (Category.SEARCH.value,)
    usage_disallowed: str = Action.SKIP.value
    usage_unknown: str = Action.FETCH.value


class PartyTable(_Table, frozen=True, kw_only=True):
    """A table `parties.NAME`."""

    seeds: tuple[str, ...] = ()
    scope: str = ""
    max_depth: Natural | None = None
    external_links: ExternalLinks | None = None


class CrawlTable(_Table, frozen=True, kw_only=True):
    """The whole file."""

    id: str = ""
    seeds: tuple[str, ...] = ()
    seeds_file: str = ""
    priority: Priority = 0
    weight: Weight = 1.0
    share_for: int | str = "1h"
    """Maximum age of a capture of another crawl that is taken, up to a day. 0: none is taken."""
    scope: str = ""
    strategy: str = ""
    external_links: ExternalLinks = "deep"
    url_steps: tuple[str, ...] = ALL_STEPS
    rules: str = ""
    limits: LimitsTable = LimitsTable()
    revisit: RevisitTable = RevisitTable()
    output: OutputTable = OutputTable()
    parties: dict[str, dict[str, Any]] = {}


KEYS = {
    "weight": "weight",
    "share_for": "share_for",
    "scope": "scope",
    "strategy": "strategy",
    "external_links": "external_links",
    "url_steps": "url_steps",
    "rules": "rules",
    "max_pages": "limits.max_pages",
    "max_depth": "limits.max_depth",
    "revisit": "revisit.policy",
    "budget": "revisit.budget",
    "discovery_share": "revisit.discovery_share",
    "own_topic": "output.topic",
    "relevant": "output.relevant",
    "follow_irrelevant": "output.follow_irrelevant",
    "purposes": "output.purposes",
    "usage_disallowed": "output.usage_disallowed",
    "usage_unknown": "output.usage_unknown",
}
"""Field of a definition → key of the file. Parties have keys of their own."""
COPIED = frozenset(KEYS) - {
    "scope",
    "revisit",
    "share_for",
    "own_topic",
    "url_steps",
    "strategy",
}
"""Fields of a definition whose values are those of their keys. `_Reader` makes the others."""
DEFAULTS = CrawlDefined(at=0.0, scope="", max_depth=DEFAULT_DEPTH, url_steps=ALL_STEPS)
"""The definition by a file without keys, but for its scope."""
NO_SEEDS = SeedsApplied(at=0.0, seeds={})
"""The seeds of a crawl without a file."""
IMMUTABLE = ("url_steps", "own_topic")
"""Fields that cannot change during a crawl."""


class Difference(NamedTuple):
    """A key whose value changes. None means that the key is new, or is gone."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True)
class CrawlFile:
    """A valid crawl file."""

    definition: CrawlDefined
    """The crawl as the file defines it, without its state: time 0, neither paused nor removed."""
    seeds: SeedsApplied
    invalid_seeds: tuple[str, ...] = ()
    """A message for each line of `seeds_file` that is not a URL. The other lines are seeds."""

    def events(
        self, before: CrawlDefined | None, applied: SeedsApplied | None, now: float
    ) -> list[Event]:
        """Return the events that make this file the active definition, in order.

        *before* and *applied* are the active definition and the seeds of the file that was applied
        last. A paused crawl stays paused. The list is empty if nothing changes. Raise BadSettings
        if the crawl was removed, or if an immutable setting would change.
        """
        check_not_removed(before)
        _check_immutable(self.definition, before)
        events: list[Event] = []
        if any(compare(before, self.definition)):
            paused = before is not None and before.paused
            events.append(replace(self.definition, at=now, paused=paused))
        crawl, priority = self.definition.crawl, self.seeds.priority
        events += [
            SeedAdded(crawl=crawl, at=now, url=url, party=party, priority=priority)
            for party, url in new_seeds(applied, self.seeds)
        ]
        # The last event: a crash before it repeats seeds, and loses none.
        if replace(applied or NO_SEEDS, crawl=crawl, at=0.0) != self.seeds:
            events.append(replace(self.seeds, at=now))
        return events


def parse_crawl_file(
    text: str, path: Path, default_policy: str, *, reads_files: bool = True
) -> CrawlFile:
    """Return the crawl in the *text* of the file at *path*; *default_policy* is the revisit policy
    if the file has none. Raise BadSettings, with key and line, for an invalid file.

    Only `seeds_file`, relative to the folder of *path*, is read from the disk. It is refused unless
    *reads_files*: a text from another machine must not name files of this one.
    """
    try:
        table = tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{path}: {error}") from error
    except RecursionError as error:
        raise BadSettings(f"{path}: too many lists or tables within each other") from error
    if not reads_files and table.get("seeds_file"):
        raise BadSettings("seeds_file: only a local file may name one: list the seeds in seeds")
    if not reads_files and is_file(str(table.get("rules", ""))):
        raise BadSettings("rules: only a local file may name one: name a module")
    return _Reader(text, path).read(table, default_policy)


class _Reader:
    """Reads one file, and knows the lines of its keys."""

    def __init__(self, text: str, path: Path) -> None:
        self._text, self._path = text, path
        self._invalid_seeds: tuple[str, ...] = ()

    def read(self, table: dict[str, Any], default_policy: str) -> CrawlFile:
        found = self._convert(table, CrawlTable)
        for name in found.parties:
            if not name.isprintable() or not 0 < len(name) <= MAX_PARTY_NAME:
                self._refuse("parties", f"{name[:80]!r} is not the name of a party")
        parties = {
            name: self._convert(one, PartyTable, f"parties.{name}.")
            for name, one in found.parties.items()
        }
        seeds = {"": (*self._seeds("seeds", found.seeds), *self._read_seeds_file(found.seeds_file))}
        seeds |= {
            name: self._seeds(f"parties.{name}.seeds", party.seeds)
            for name, party in parties.items()
        }
        seeds = {party: tuple(dict.fromkeys(urls)) for party, urls in seeds.items() if urls}
        if sum(len(url) for urls in seeds.values() for url in urls) > MAX_SEED_BYTES:
            self._refuse(
                "seeds",
                f"more than {MAX_SEED_BYTES:,} bytes of seeds: add others with gossamer seed "
                "--crawl ID --file FILE",
            )
        definition = self._define(found, seeds, default_policy)
        for name, party in parties.items():
            definition = self._add_party(definition, name, party, seeds.get(name, ()))
        applied = SeedsApplied(crawl=definition.crawl, at=0.0, seeds=seeds, priority=found.priority)
        return CrawlFile(definition, applied, self._invalid_seeds)

    def _define(
        self, found: CrawlTable, seeds: Mapping[str, tuple[str, ...]], default_policy: str
    ) -> CrawlDefined:
        name, revisit = found.id or self._path.stem, found.revisit.policy or default_policy
        every_seed = [url for urls in seeds.values() for url in urls]
        scope = new_scope(found.scope, every_seed)
        if not scope:
            self._refuse("scope" if found.scope else "seeds", "name a seed, or a scope")
        crawl = CrawlDefined(
            crawl=name,
            at=0.0,
            scope=scope,
            scope_of_seeds=scope_of_seeds(found.scope),
            revisit=revisit,
            share_for=self._check("share_for", _parse_share_for, found.share_for),
            own_topic=found.output.topic == "own",
            url_steps=tuple(step for step in ALL_STEPS if step in found.url_steps),
            strategy=self._check("strategy", parse_strategy, found.strategy),
            **{field: attrgetter(KEYS[field])(found) for field in COPIED},
        )
        self._check("id", _check_name if not found.id else check_id, name)
        self._check("revisit.policy", parse_policy, crawl.revisit)
        self._check("url_steps", check_steps, found.url_steps)
        self._check("output.relevant", lambda it: it and parse_relevance(it), crawl.relevant)
        self._check("output.purposes", policy_of, crawl)
        self._check("scope", parse_scope, scope)
        self._check("scope", lambda it: check_scope(every_seed, it), scope)
        identified: CrawlDefined = self._check(
            "rules", lambda it: identify_rules(it, self._path.parent), crawl
        )
        return identified

    def _add_party(
        self, crawl: CrawlDefined, name: str, party: PartyTable, seeds: tuple[str, ...]
    ) -> CrawlDefined:
        key = f"parties.{name}"
        if not (limits := _limits_of(party)):
            return crawl
        if party.scope in SCOPES and not seeds:
            self._refuse(f"{key}.scope", "name seeds of the party, or a scope expression")
        defined: CrawlDefined = self._check(
            f"{key}.scope", lambda limits: define_party(crawl, name, seeds, limits), limits
        )
        return defined

    def _convert(self, table: Any, kind: type[T], prefix: str = "") -> T:
        try:
            return convert(table, kind)
        except msgspec.ValidationError as error:
            problem, _, at = str(error).partition(" - at `$")
            key = prefix + at.rstrip("`").lstrip(".").partition("[")[0]
            if unknown := _unknown.search(problem):
                self._refuse_unknown(key.rstrip("."), unknown[1], kind)
            choices = _choices(_type_of(key.removeprefix(prefix), kind))
            named = f"choose from {', '.join(choices)}" if choices else _in_words(problem)
            self._refuse(key.rstrip("."), named)

    def _refuse_unknown(self, table: str, name: str, kind: type[Struct]) -> NoReturn:
        inner = {one.name: one.type for one in fields(kind)}.get(table.rpartition(".")[2], kind)
        names = [one.name for one in fields(inner if isinstance(inner, type) else kind)]
        close = get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(names)}"
        self._refuse(f"{table}.{name}" if table else name, f"unknown key; {hint}")

    def _seeds(self, key: str, typed: Iterable[str]) -> tuple[str, ...]:
        seeds = []
        for text in typed:
            try:
                seeds.append(canonical_of_typed(text.strip()))
            except BadSettings as error:
                self._refuse(key, str(error), self._line_with(text))
        return tuple(seeds)

    def _read_seeds_file(self, name: str) -> tuple[str, ...]:
        if not name:
            return ()
        path = self._path.parent / name
        try:
            found = read_seed_list(decode_list(path.read_bytes()).splitlines(), f"{path}, line")
        except OSError as error:
            self._refuse("seeds_file", f"{path} cannot be read: {error}")
        if found.invalid and not found.seeds:
            raise BadSettings(found.invalid[0])
        self._invalid_seeds = found.invalid
        return found.seeds

    def _check(self, key: str, check: Any, value: Any) -> Any:
        """Return what *check* returns for *value*, and refuse *key* if it raises."""
        try:
            return check(value)
        except (BadSettings, ValueError) as error:
            self._refuse(key, str(error))

    def _refuse(self, key: str, reason: str, line: int | None = None) -> NoReturn:
        # Checks of settings name the field, such as crawl.usage_unknown.
        if (found := _named.match(reason)) and found[1] in KEYS:
            reason = reason[found.end() :]
            key = key if key.endswith(found[1]) else KEYS[found[1]]
        line = line or line_of(self._text, key)
        where = f"{self._path}, line {line}" if line else str(self._path)
        raise BadSettings(f"{where}: {key}: {reason}")

    def _line_with(self, text: str) -> int | None:
        lines = self._text.splitlines()
        return next((number for number, line in enumerate(lines, 1) if text in line), None)


_header = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_assignment = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_unknown = re.compile(r"unknown field `([^`]*)`")
_named = re.compile(r"(?:crawl\.)?(\w+): ")
_WORDS = {
    "`int | str`": 'a duration such as "1h", or 0',
    "`int`": "a whole number",
    "`float`": "a number",
    "`str`": "text",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "a table",
    "`null`": "nothing",
}


def line_of(text: str, key: str) -> int | None:
    """Return the line, from 1, of the dotted *key* in TOML *text*, or of the nearest table around
    it; None if the text has neither."""
    found, longest = None, 0
    wanted, table = key.split("."), list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _header.match(line):
            table = names = _split_key(header[1])
        elif assigned := _assignment.match(line):
            names = [*table, *_split_key(assigned[1])]
        else:
            continue
        if len(names) > longest and wanted[: len(names)] == names:
            found, longest = number, len(names)
    return found


def _split_key(text: str) -> list[str]:
    return [part.strip().strip("\"'") for part in text.split(".")]


def _type_of(key: str, kind: Any) -> Any:
    """Return the type of the dotted *key* in the table *kind*; None if it has no such key."""
    for name in key.split("."):
        kind = next((one.type for one in fields(kind) if one.name == name), None)
        if not isinstance(kind, type):
            return kind
    return kind


def _choices(kind: Any) -> list[str]:
    """Return the texts of a type that permits only some."""
    inner = get_args(kind)
    return [one for one in inner if isinstance(one, str)] or [
        text for one in inner for text in _choices(one)
    ]


def _check_name(name: str) -> None:
    """Raise BadSettings unless the *name* of the file may be the id of the crawl."""
    try:
        check_id(name)
    except BadSettings as error:
        raise BadSettings(f'{error}; or add a line such as id = "news" to the file') from error


def _in_words(problem: str) -> str:
    for code, word in _WORDS.items():
        problem = problem.replace(code, word)
    return problem[:1].lower() + problem[1:].replace("`", "")


def _limits_of(party: PartyTable | Party) -> dict[str, Any]:
    """Return the limits that *party* has of its own, by field."""
    limits = {field: getattr(party, field) for field in Party.__struct_fields__}
    return {field: value for field, value in limits.items() if value not in ("", None)}


def _parse_share_for(given: int | str) -> float:
    """Return the seconds of `share_for`. Raise ValueError if it is invalid."""
    if isinstance(given, int) and given:
        raise ValueError(f"{given} has no unit: write a duration such as 1h, or 0")
    seconds = duration_of(given) if isinstance(given, str) else 0.0
    if seconds > MAX_SHARE_SECONDS:
        raise ValueError(f"{given} is longer than a day")
    return seconds


def _check_immutable(crawl: CrawlDefined, before: CrawlDefined | None) -> None:
    for difference in compare(before, crawl) if before else ():
        if difference.key in [KEYS[field] for field in IMMUTABLE]:
            raise BadSettings(
                f"{difference.key} cannot change during a crawl: it is "
                f"{format_value(difference.before)}. Define another crawl, with another id"
            )


def compare(before: CrawlDefined | None, after: CrawlDefined) -> Iterator[Difference]:
    """Yield the keys in which two definitions of a crawl differ; all keys of a new crawl that do
    not have their defaults."""
    old = before or DEFAULTS
    for field, key in KEYS.items():
        values = (_value(old, field), _value(after, field))
        if values[0] != values[1]:
            yield Difference(key, values[0] if before else None, values[1])
    if old.rules == after.rules and old.rules_digest != after.rules_digest:
        yield Difference("rules", *(f"{one.rules} ({one.rules_digest})" for one in (old, after)))
    for name in sorted({*old.parties, *after.parties}):
        yield from _compare_parties(name, old.parties.get(name), after.parties.get(name))


def _compare_parties(name: str, old: Party | None, new: Party | None) -> Iterator[Difference]:
    for field in Party.__struct_fields__:
        before, after = getattr(old or NO_PARTY, field), getattr(new or NO_PARTY, field)
        if before != after:
            yield Difference(f"parties.{name}.{field}", before or None, after or None)


def _value(crawl: CrawlDefined, field: str) -> Any:
    """Return a field as the file has it."""
    if field == "own_topic":
        return "own" if crawl.own_topic else "shared"
    if field == "share_for":
        return duration_text(crawl.share_for) if crawl.share_for else 0
    if field == "max_pages":
        return crawl.page_limit
    if field == "url_steps":
        return tuple(step for step in ALL_STEPS if step in crawl.url_steps)
    return getattr(crawl, field)


def new_seeds(before: SeedsApplied | None, after: SeedsApplied) -> list[tuple[str, str]]:
    """Return party and URL of each seed of *after* that *before* does not have."""
    old = before.seeds if before else {}
    return [
        (party, url)
        for party, urls in after.seeds.items()
        for url in urls
        if url not in old.get(party, ())
    ]


def format_value(value: Any) -> str:
    """Return a value as the file has it; "not set" for None."""
    return "not set" if value is None else _toml(value)


def write_crawl_file(crawl: CrawlDefined, applied: SeedsApplied | None) -> str:
    """Return a definition as the text of a crawl file, without keys that have their defaults.

    Reading it returns an equal definition and equal seeds.
    """
    seeds = applied.seeds if applied else {}
    top: dict[str, Any] = {"id": crawl.crawl}
    if urls := seeds.get(""):
        top["seeds"] = urls
    if applied and applied.priority:
        top["priority"] = applied.priority
    tables: dict[str, dict[str, Any]] = {"": top}
    for field, key in KEYS.items():
        table, _, name = key.rpartition(".")
        # Defaults of the policy differ between folders and fleets.
        if field == "revisit" or _value(crawl, field) != _value(DEFAULTS, field):
            tables.setdefault(table, {})[name] = _value(crawl, field)
    every_seed = [url for urls in seeds.values() for url in urls]
    if (kind := crawl.scope_of_seeds) and new_scope(kind, every_seed) == crawl.scope:
        top["scope"] = kind
    for name in sorted({*crawl.parties, *filter(None, seeds)}):
        party = crawl.parties.get(name, NO_PARTY)
        listed = {"seeds": seeds[name]} if name in seeds else {}
        tables[f"parties.{_toml(name)}"] = {**listed, **_limits_of(party)}
    blocks = (
        "\n".join(
            [*([f"[{table}]"] if table else []), *(f"{k} = {_toml(v)}" for k, v in keys.items())]
        )
        for table, keys in tables.items()
    )
    return "\n\n".join(blocks) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, tuple | list):
        items = [_toml(one) for one in value]
        line = f"[{', '.join(items)}]"
        return line if len(line) <= 80 else "[\n" + "".join(f"    {one},\n" for one in items) + "]"
    if isinstance(value, str):
        # TOML's basic strings are those of JSON, except for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
