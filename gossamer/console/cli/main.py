"""`gossamer`: runs a command, and turns errors into a message and an exit status.

A message about an unknown or abbreviated option names the similar one.
"""

import argparse
import gc
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from gossamer.console.output import print_error
from gossamer.errors import BadSettings, GossamerError

GROUPS = {
    "crawl": {
        "crawl": "crawl from seeds; the same command again continues the crawl",
        "crawls": "define crawls by files; list, compare, pause and remove them",
        "try": "fetch one page without a crawl, and show what a crawl would do with it",
        "check": "say which seeds are dead, moved, forbidden, out of scope or duplicates",
        "seed": "add seeds to a crawl, or change its scope, depth and revisits",
        "pages": "write the pages of a crawl, one line a page",
        "export": "write pages as tables, Markdown or chunks; known URLs; or a WACZ file",
    },
    "archive": {
        "import": "add the captures in WARC and WACZ files to the history of a crawl",
        "cdx": "write the index of all captures, in CDXJ",
        "replay": "serve the archived pages to a browser, with pywb",
    },
    "inspect": {
        "status": "show the progress of a crawl, its failures, and waiting hosts",
        "report": "explain what limits, traps and copies cost, by day and in total",
        "why": "explain what happened to a URL, and what happens next",
        "history": "list the visits to a URL, the changes they found, and their captures",
        "show": "show an archived version of a page: its text, headers or bytes",
        "diff": "show how a page changed between two archived versions",
        "usage": "show what a site allowed its pages to be used for, at any time",
        "hosts": "list hosts: their conditions, queues and delays",
        "sites": "list sites, or the parts of one: their worth, budgets and parked URLs",
        "blocklist": "list the blocklist, or the rule that forbids a URL",
        "audit": "list the changes that operators made: who, when, why, before and after",
        "doctor": "check a folder or a fleet, and name the remedy for each problem",
        "dead-letters": "list, replay or discard records that could not be processed",
    },
    "change": {
        "fetch": "fetch URLs now, before all others, and print their documents",
        "retry": "retry hosts that back off, or URLs that failed, now",
        "release": "visit parked URLs of a site, whatever they are worth",
        "refetch": "fetch URLs again now, before their next planned visit",
        "site": "set delay, quiet hours, budget or certificate of a site or host",
        "speed": "limit the pages or bytes a second, by weekday and hour",
        "block": "never request a host, a domain, a URL, a prefix or a network",
        "unblock": "lift a rule of the blocklist",
        "forget": "erase everything about a URL, a host or a site",
        "snapshot": "copy a folder or a fleet consistently while its crawl runs",
        "restore": "restore a snapshot, or align log and store of a fleet",
        "suffixes": "change a crawl to the public suffix list of this release",
    },
    "console": {
        "console": "serve the web console and the HTTP API of a crawl",
        "token": "create a token for the console and the API",
        "mcp": "serve the pages of a crawl to language models (Model Context Protocol)",
        "notifications": "list the notices that the console sends, and test a channel",
    },
    "identity": {
        "identity": "write and check the page, the addresses and the keys of the crawler",
    },
    "shell": {
        "completion": "print a script that completes commands and options in bash, zsh or fish",
    },
    "fleet": {
        "topics": "create, check and resize the topics of a fleet",
        "store": "create and check the tables of a fleet",
        "move": "move a folder's crawl to a fleet, or a fleet's to a folder",
    },
}
"""Group of `--help` → command → summary. Each command is the module of that name in this package,
with `add_options` and `run`."""
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
NAME_WIDTH = max(map(len, COMMANDS)) + 2
MIN_SIMILARITY = 0.6


class Parser(argparse.ArgumentParser):
    """A parser that refuses abbreviated options, because a new option could make one ambiguous.

    Parsers of subcommands are of this class, too.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the options; exit with status 2 and a message if one is unknown."""
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            self.refuse(unknown, getattr(options, "parser", self))
        return options

    def refuse(self, unknown: Sequence[str], command: "Parser") -> NoReturn:
        """Exit with a message about *unknown* arguments of *command*."""
        first = unknown[0]
        if not first.startswith("-"):
            command.error(f"unexpected argument: {first}")
        name = first.partition("=")[0]
        command.check_name(name, "option", [*command.option_names()])
        command.error(f"option {name} is not allowed here")

    def check_name(self, name: str, kind: str, names: Collection[str]) -> None:
        """Exit unless *name* is one of *names*; *kind* is the word for them in the message."""
        if name in names:
            return
        longer = [one for one in names if one.startswith(name)]
        meant = longer or get_close_matches(name, names, 1, MIN_SIMILARITY)
        hint = f": did you mean {' or '.join(meant)}?" if meant else ""
        self.error(f"unknown {kind} {name}{hint}")

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 after *message*, without the usage of all options."""
        print_error(self.prog, f"{message}\n{self.prog} --help shows the usage.")
        self.exit(2)

    def option_names(self) -> Iterator[str]:
        """Yield the long options of this parser and of its subcommands."""
        for action in self._actions:
            yield from (name for name in action.option_strings if name.startswith("--"))
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser.option_names()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status: 0 done, 1 failed, 2 bad usage, 130 interrupted.

    `crawl` returns 3 if no seed gave a page.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        # Within the block, because Ctrl-C may come while the command is imported.
        parser = build_parser(words)
        if words and not words[0].startswith("-"):
            parser.check_name(words[0], "command", COMMANDS)
        options = parser.parse(words)
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BadSettings as error:
        print_error("gossamer", str(error))
        return 2
    except GossamerError as error:
        print_error("gossamer", str(error))
        return 1
    except BrokenPipeError:
        # The reader of the output has closed it. Without this, Python reports an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    finally:
        if arguments is None:
            # From here on Ctrl-C ends the process at once: Python's own handler would print a
            # traceback while the interpreter shuts down.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def build_parser(words: Sequence[str] | None) -> Parser:
    """Return the parser with the options of the command that *words* begin with; of all commands
    if *words* is None."""
    parser = Parser(
        prog="gossamer",
        description="A polite web crawler.",
        usage="gossamer [--help] [--version] COMMAND ...",
        epilog=_summaries(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        default=argparse.SUPPRESS,
        help="print the version",
    )
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog="gossamer"
    )
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if words is None or [*words[:1]] == [name]:
            # Only the chosen command is imported: each imports large libraries.
            module = _import_command(f"gossamer.console.cli.{name.replace('-', '_')}")
            module.add_options(command)
            command.set_defaults(run=module.run, parser=command)
    return parser


def _summaries() -> str:
    """Return the commands by group, as `--help` prints them."""
    groups = [
        f"{group}:\n" + "\n".join(f"  {name:{NAME_WIDTH}}{text}" for name, text in commands.items())
        for group, commands in GROUPS.items()
    ]
    return "\n\n".join([*groups, "gossamer COMMAND --help explains a command."])


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        # Imported here: it takes as long as reading the options of a command.
        from importlib.metadata import version

        print(f"gossamer {version('gossamer')}")
        parser.exit()


def _import_command(name: str) -> ModuleType:
    _import_structlog()
    # Imports leave no garbage; collecting it would take an eighth of their time.
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.enable()
        gc.freeze()


def _import_structlog() -> None:
    """Import structlog without rich.

    structlog imports rich for tracebacks with the values of variables, which Gossamer never prints.
    That is a sixth of what `gossamer status` imports.
    """
    if "structlog" in sys.modules or "rich" in sys.modules:
        return
    sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]


if __name__ == "__main__":
    sys.exit(main())
