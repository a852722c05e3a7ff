"""The options that define a crawl and its run, and the settings and the request that they make.

Commands that define a crawl, run it or try a part of it have one table of options. Each option
names the setting that it overrides, so that a new one is a row here.
"""

import argparse
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gossamer.console.cli.options import names, non_negative, port, positive, seconds
from gossamer.console.output import print_error
from gossamer.crawl import CHANGEABLE_SETTINGS, CRAWL_SETTINGS, SCOPES, CrawlRequest
from gossamer.errors import BadSettings
from gossamer.inspection.basics.folder import Folder
from gossamer.policies import POLICIES, STRATEGIES
from gossamer.web.usage import ACTIONS, CATEGORIES

if TYPE_CHECKING:
    from gossamer.settings import CrawlSettings, Settings

SEEDS_HELP = (
    "read seeds from FILE: a URL a line, JSON or CSV with url, a sitemap, a WACZ file, or the "
    "folder of a crawl; - is standard input"
)


PROFILE = "profile "
"""The beginning of the source of a setting that is the profile's."""


class Option:
    """An option, and the settings that it overrides."""

    def __init__(
        self, name: str, help: str, sets: str | Mapping[str, Any] | None = None, **how: Any
    ) -> None:
        """*sets*: the setting that gets the value of the option, such as `frontier.delay`, or
        settings with the values that they get. *how*: the arguments of `add_argument`."""
        self.name, self._help, self._how = name, help, how
        self.field: str = how.get("dest", name.removeprefix("--").replace("-", "_"))
        self._default = how.get("default", False if how.get("action") == "store_true" else None)
        self.sets = {sets: None} if isinstance(sets, str) else dict(sets or {})
        """Setting → its value; None for the value of the option."""

    def add_to(self, command: argparse.ArgumentParser, before_help: str = "") -> None:
        """Add the option to *command*; *before_help* is before its help."""
        command.add_argument(self.name, help=f"{before_help}{self._help}", **self._how)

    def is_given(self, options: argparse.Namespace) -> bool:
        """Return whether *options* have another value than the default."""
        return bool(getattr(options, self.field) != self._default)


def _define(name: str, help: str, **how: Any) -> Option:
    """Return the option for the setting of a crawl with its name, or with the name `dest`."""
    field = how.get("dest", name.removeprefix("--").replace("-", "_"))
    return Option(name, help, f"crawl.{field}", **how)


def _port_or_seed(text: str) -> int | str:
    """Read the port of `--console`, or the seed after `--console` without a port."""
    return port(text) if text.isdecimal() else text


DEFINITION_OPTIONS = (
    _define(
        "--scope", "URLs to visit: host or site (of the seeds), any, or an expression", default=""
    ),
    _define(
        "--depth",
        "follow at most N links from a seed",
        dest="max_depth",
        type=non_negative,
        metavar="N",
    ),
    _define("--revisit", f"when pages are visited again: {', '.join(POLICIES)}", metavar="POLICY"),
    _define("--budget", "make at most N revisits a day", type=float, metavar="N"),
    _define(
        "--discovery-share", "share of the budget for new URLs, 0 to 1", type=float, metavar="X"
    ),
    _define(
        "--external-links",
        "links to other sites: follow the link (deep), the home page, both, or none",
        choices=("deep", "home", "combined", "none"),
    ),
    _define(
        "--relevant", "keep only pages such as language('pt') and type('text/html')", metavar="EXPR"
    ),
    _define(
        "--follow-irrelevant",
        "follow links on pages that are not relevant",
        action=argparse.BooleanOptionalAction,
    ),
    _define(
        "--rules",
        "functions of your own in a Python file: keep, extract, follow, priority",
        metavar="FILE",
    ),
    _define(
        "--strategy",
        f"order of new URLs: {', '.join(STRATEGIES)} (default: best if the scope is any, else "
        "breadth)",
        metavar="NAME",
    ),
    _define(
        "--purposes",
        f"uses of the pages, such as search,ai-input: of {', '.join(CATEGORIES)}",
        type=names,
        metavar="LIST",
    ),
    _define("--usage-disallowed", "if the site disallows one of the purposes", choices=ACTIONS),
    _define(
        "--usage-unknown", "if the site states nothing about one of the purposes", choices=ACTIONS
    ),
)
"""Options that define a crawl."""
CONTACT = Option(
    "--contact", "your e-mail address or Web page, sent with each request", "fetcher.contact"
)
ALLOW_NETWORK = Option(
    "--allow-network",
    "visit hosts in this private network, such as 127.0.0.0/8",
    "fetcher.allow_networks",
    action="append",
    metavar="CIDR",
)
VISIT_OPTIONS = (
    CONTACT,
    Option(
        "--delay",
        "at least SECONDS between two visits to a host (default: 1)",
        "frontier.delay",
        type=float,
        metavar="SECONDS",
    ),
    ALLOW_NETWORK,
    Option("--nameserver", "the DNS server to use", "fetcher.nameserver", metavar="ADDRESS:PORT"),
    *DEFINITION_OPTIONS,
)
"""Options of the commands that make requests themselves."""
MAX_PAGES = Option(
    "--max-pages", "stop after N pages of this run", type=positive, default=0, metavar="N"
)
CRAWL_OPTIONS = (
    Option("--seeds", SEEDS_HELP, dest="seeds_file", metavar="FILE"),
    Option(
        "--for",
        "settings for pages that models read, for an archive, or for watching the seeds; the "
        "folder remembers them. none: forget them",
        dest="profile",
        choices=("rag", "archive", "watch", "none"),
    ),
    Option("--explain", "print all settings with their sources; do not crawl", action="store_true"),
    Option(
        "--crawl",
        "the crawl of the seeds and options; all active crawls of the folder run",
        metavar="ID",
    ),
    MAX_PAGES,
    Option(
        "--max-time",
        "stop after this time: 90s, 15m, 2h",
        type=seconds,
        default=0.0,
        metavar="TIME",
    ),
    *VISIT_OPTIONS,
    Option(
        "--rules-strict",
        "stop the crawl when a function of its rules fails",
        {"standalone.rules_strict": True},
        action="store_true",
    ),
    Option(
        "--no-text",
        "extract links, but not the main text of pages",
        {"parser.text": "off"},
        action="store_true",
    ),
    Option(
        "--metrics-port",
        "serve Prometheus metrics at 127.0.0.1:N/metrics",
        type=port,
        metavar="N",
    ),
    Option(
        "--console",
        "serve the web console beside the crawl (default: api.port, 8080)",
        nargs="?",
        const=0,
        type=_port_or_seed,
        metavar="PORT",
    ),
    Option(
        "--until-stdin-closes",
        "stop as at Ctrl-C when standard input closes: for programs that start crawls",
        action="store_true",
    ),
    Option("--quiet", "print errors only", action="store_true"),
    Option("--verbose", "report every count and the slowest hosts", action="store_true"),
    Option(
        "--json-logs",
        "progress and logs as JSON, on stderr",
        {"logs.json_lines": True, "logs.level": "info"},
        action="store_true",
    ),
)
"""Options of `gossamer crawl`."""


def overrides_of(options: argparse.Namespace, table: Iterable[Option]) -> dict[str, dict[str, Any]]:
    """Return the settings that the given ones of *table* override, by section. A scope of the seeds
    is not a setting, because a setting is an expression."""
    overrides: dict[str, dict[str, Any]] = {}
    for option in table:
        value = getattr(options, option.field)
        if not option.is_given(options) or (option.field == "scope" and value in SCOPES):
            continue
        for setting, fixed in option.sets.items():
            section, _, name = setting.partition(".")
            overrides.setdefault(section, {})[name] = value if fixed is None else fixed
    return overrides


def profile_of(options: argparse.Namespace, folder: Folder) -> str:
    """Return the profile of the command, or else the one that *folder* remembers; "" for none."""
    from gossamer.settings import NO_PROFILE

    if options.profile is None:
        return folder.profile()
    return "" if options.profile == NO_PROFILE else str(options.profile)


def sources_of_run(options: argparse.Namespace, profile: str) -> dict[tuple[str, str], str]:
    """Return section and field of each setting that is not a default, with its source, in words."""
    from gossamer.settings import OVERRIDES, sources_of

    names = {setting: option.name for option in CRAWL_OPTIONS for setting in option.sets}
    found = sources_of(options.config, overrides_of(options, CRAWL_OPTIONS), profile)
    return {
        at: f"{OVERRIDES} {names['.'.join(at)]}" if source == OVERRIDES else source
        for at, source in found.items()
    }


def fields_of_profile(options: argparse.Namespace, profile: str) -> set[str]:
    """Return the settings of a crawl's definition that *profile* alone sets."""
    found = sources_of_run(options, profile)
    return {
        field
        for (section, field), source in found.items()
        if section == "crawl" and source.startswith(PROFILE)
    }


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the crawl that *options* give, by name, without the scope."""
    named = {name: getattr(options, name) for name in CHANGEABLE_SETTINGS}
    return {name: value for name, value in named.items() if value is not None}


def request_of(
    options: argparse.Namespace,
    settings: "CrawlSettings",
    given: Collection[str],
    seeds: tuple[str, ...],
    crawl: str,
    max_pages: int | None = None,
) -> CrawlRequest:
    """Return what a command asks of *crawl*: its *seeds*, and the *settings* that are *given*."""
    return CrawlRequest(
        seeds=seeds,
        scope=options.scope or (settings.scope if "scope" in given else ""),
        settings={name: getattr(settings, name) for name in CRAWL_SETTINGS if name in given},
        max_pages=max_pages,
        crawl=crawl,
    )


def check_rules(settings: "Settings", names: Collection[str], is_strict: bool = False) -> None:
    """Try each of the rules *names* on a sample page, and print the errors that they raise.

    Raise BadSettings if they cannot be used; if *is_strict*, also for such an error.
    """
    from gossamer.services.parser import wiring

    for name in filter(None, dict.fromkeys(names)):
        raised = wiring.check_rules(settings, name)
        if raised and is_strict:
            raise BadSettings("\n".join(raised))
        for text in raised:
            print_error(
                "gossamer", f"{text}. The crawl goes on: a page on which it fails does without it"
            )
