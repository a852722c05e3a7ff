"""The keyword arguments of `Crawl` as options of `gossamer crawl`, checked before a run starts."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.library.process import translate_errors

if TYPE_CHECKING:
    from gossamer.settings import Settings

Convert = Callable[[str, Any], list[str]]
"""Name and value of an argument → its words on the command line."""
PORTS = range(1, 65536)


def _option(name: str, value: object = None) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is None else f"{option}={value}"


def _text(name: str, value: Any) -> list[str]:
    return [_option(name, _of(name, value, str, "a string"))]


def _path(name: str, value: Any) -> list[str]:
    return [_option(name, os.fspath(_of(name, value, (str, os.PathLike), "a path")))]


def _number(name: str, value: Any) -> list[str]:
    return [_option(name, _of(name, value, (int, float), "a number"))]


def _whole(numbers: Callable[[int], bool], text: str) -> Convert:
    def convert(name: str, value: Any) -> list[str]:
        if not numbers(_of(name, value, int, "a whole number")):
            raise ValueError(f"{name} must be {text}, not {value}")
        return [_option(name, value)]

    return convert


def _duration(name: str, value: Any) -> list[str]:
    from gossamer.policies import duration_of

    if isinstance(value, timedelta):
        value = value.total_seconds()
    value = _of(name, value, (int, float, str), "seconds, a timedelta, or a string such as '15m'")
    text = value if isinstance(value, str) else f"{value}s"
    duration_of(text if text[-1:].isalpha() else f"{text}s")
    return [_option(name, text)]


def _each(name: str, value: Any) -> list[str]:
    return [_option(name, one) for one in _strings(name, value)]


def _list(name: str, value: Any) -> list[str]:
    return [_option(name, ",".join(_strings(name, value)))]


def _flag(name: str, value: Any) -> list[str]:
    return [_option(name)] if _of(name, value, bool, "True or False") else []


def _choice(name: str, value: Any) -> list[str]:
    return [_option(name if _of(name, value, bool, "True or False") else f"no-{name}")]


def _console(name: str, value: Any) -> list[str]:
    return _flag(name, value) if isinstance(value, bool) else _port(name, value)


_natural = _whole(lambda number: number >= 0, "0 or more")
_positive = _whole(lambda number: number >= 1, "1 or more")
_port = _whole(lambda number: number in PORTS, "a port from 1 to 65535")


class Argument(NamedTuple):
    """How an argument of `Crawl` is checked and written."""

    write: Convert
    setting: str = ""
    """The setting whose rules the value must follow; "" for none."""


OPTIONS = {
    "crawl": Argument(_text),
    "contact": Argument(_text, "fetcher.contact"),
    "max_pages": Argument(_positive),
    "max_time": Argument(_duration),
    "delay": Argument(_number, "frontier.delay"),
    "allow_network": Argument(_each, "fetcher.allow_networks"),
    "scope": Argument(_text),
    "depth": Argument(_natural, "crawl.max_depth"),
    "revisit": Argument(_text, "crawl.revisit"),
    "budget": Argument(_number, "crawl.budget"),
    "discovery_share": Argument(_number, "crawl.discovery_share"),
    "external_links": Argument(_text, "crawl.external_links"),
    "relevant": Argument(_text, "crawl.relevant"),
    "follow_irrelevant": Argument(_choice, "crawl.follow_irrelevant"),
    "strategy": Argument(_text, "crawl.strategy"),
    "purposes": Argument(_list, "crawl.purposes"),
    "usage_disallowed": Argument(_text, "crawl.usage_disallowed"),
    "usage_unknown": Argument(_text, "crawl.usage_unknown"),
    "nameserver": Argument(_text, "fetcher.nameserver"),
    "no_text": Argument(_flag),
    "metrics_port": Argument(_port),
    "console": Argument(_console),
    "config": Argument(_path),
    "rules": Argument(_path),
    "rules_strict": Argument(_flag),
    "profile": Argument(lambda name, value: _text("for", value)),
}
"""All arguments that are options. An option has the name of its argument, except that `for` is a
word of Python."""


def _of(name: str, value: Any, kinds: type | tuple[type, ...], text: str) -> Any:
    is_kind = isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool))
    if not is_kind:
        raise TypeError(f"{name} must be {text}, not {value!r}")
    return value


def _strings(name: str, value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a string or a list of strings, not {value!r}")
    return [_of(name, one, str, "a list of strings") for one in value]


def given_arguments(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not None in the *variables* of a function.

    Lists are read, because some iterables can be read only once.
    """
    given = {name: variables[name] for name in OPTIONS if variables[name] is not None}
    lists = {name: _strings(name, given[name]) for name in given if _is_list(name)}
    return given | lists


def _is_list(name: str) -> bool:
    return OPTIONS[name].write in (_each, _list)


def words_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return the words for the *arguments* that are not None.

    Raise TypeError or ValueError that names a wrong one.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    return [word for name, value in given.items() for word in OPTIONS[name].write(name, value)]


def canonical_seeds(seeds: str | Iterable[str]) -> tuple[str, ...]:
    """Return the canonical URLs of *seeds*. Raise ValueError with all that are not URLs."""
    from gossamer.crawl import read_seeds

    with translate_errors():
        return read_seeds(_strings("seeds", seeds))


def variables_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return *settings* as environment variables. A name is `frontier.delay`, or a section with a
    mapping of its settings."""
    return {
        f"GOSSAMER_{section}__{name}".upper(): value if isinstance(value, str) else _json(value)
        for section, values in _group_by_section(settings).items()
        for name, value in values.items()
    }


def _json(value: Any) -> str:
    return json.dumps(value, default=lambda one: [*one] if isinstance(one, set) else str(one))


def _group_by_section(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, value in _of("settings", settings, Mapping, "a mapping").items():
        section, dot, setting = _of("settings", name, str, "a mapping with names").partition(".")
        named = {setting: value} if dot else _of(f"settings[{name!r}]", value, Mapping, "a mapping")
        found.setdefault(section, {}).update(named)
    return found


def check_settings(arguments: Mapping[str, Any], settings: Mapping[str, Any]) -> "Settings":
    """Return the settings that a command with *arguments* and *settings* has, with the environment
    and the file of `config`. Raise ValueError if a value is invalid."""
    from gossamer.crawl import SCOPES
    from gossamer.settings import load_settings
    from gossamer.web.scope import parse_scope

    merged = _group_by_section(settings)
    for name, value in arguments.items():
        section, _, field = OPTIONS[name].setting.partition(".")
        if section:
            merged.setdefault(section, {})[field] = tuple(value) if _is_list(name) else value
    config = arguments.get("config")
    with translate_errors():
        if (scope := arguments.get("scope")) and scope not in SCOPES:
            parse_scope(scope)
        return load_settings(Path(config) if config else None, merged)
