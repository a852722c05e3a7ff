"""`gossamer`: finds the command, and turns what goes wrong into a message and an exit status."""

import argparse
import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from gossamer.errors import BadSettings, GossamerError
from gossamer.terminal import escape_controls

COMMANDS = {
    "crawl": "crawl from seeds, politely; the same command again goes on where it stopped",
    "seed": "give a crawl URLs to start from, and say what it may visit",
    "pages": "write the pages of a crawl, one line a URL, its newest version",
    "status": "say how a crawl stands: what it is, what is done, what waits and for whom",
    "why": "say what happened or will happen to a URL, and by which rule",
    "history": "list the visits to a URL: what came of each, and what had changed",
    "refetch": "have URLs visited again now, whenever they are due",
    "retry": "have hosts that were in trouble, or URLs that failed, tried again now",
    "forget": "erase what is known of a URL, a host or a site, as its owner may demand",
    "site": "say what is different at a site, or a host: hours, delay, off, budget, certificate",
    "speed": "say how fast the crawl may go, by weekday and hour",
    "block": "never request a host, a domain, a URL, what begins like one, or a network",
    "unblock": "lift a rule of the blocklist; what it held back comes again",
    "blocked": "list the blocklist, or say by which rule a URL is on it",
    "topics": "create and check the topics of a fleet",
    "store": "create and check the tables of a fleet",
    "snapshot": "take a consistent copy of a folder or a fleet while its crawl runs",
    "restore": "put a snapshot back, or bring log and store of a fleet together again",
    "move": "continue a folder's crawl in a fleet, or a fleet's in a folder",
    "doctor": "check a fleet or a folder, and name the remedy for each problem",
    "dead-letters": "list or replay what could not be read or processed",
}
"""Each is the module of that name in this package: `add_options` and `run`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status: 0 done, 1 failed, 2 bad usage, 130 interrupted.

    A command may have one of its own: `crawl` returns 3 when no seed gave a page.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        # Here too, because of what is imported: Ctrl-C may come at any time.
        options = _parser(given).parse_args(given)
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BadSettings as error:
        print(escape_controls(f"gossamer: {error}", keep="\n"), file=sys.stderr)
        return 2
    except GossamerError as error:
        print(escape_controls(f"gossamer: {error}", keep="\n"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has enough: that is no failure. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    finally:
        if arguments is None:
            # Ctrl-C ends the process at once from here on: Python's own handler would print a
            # traceback while the interpreter shuts down.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _parser(given: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gossamer", description="A polite web crawler.")
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        default=argparse.SUPPRESS,
        help="say the version, and exit",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if given[:1] == [name]:
            # Only the chosen one is imported: each brings large libraries of its own.
            module = _imported(f"console.cli.{name.replace('-', '_')}")
            module.add_options(command)
            command.set_defaults(run=module.run)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        # Imported only here, since it would cost every command as much as reading its options.
        from importlib.metadata import version

        print(f"gossamer {version('gossamer')}")
        parser.exit()


def _imported(name: str) -> ModuleType:
    _import_structlog()
    # Nothing that is imported is garbage: to look for some takes an eighth of the time.
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.enable()
        gc.freeze()


def _import_structlog() -> None:
    """Import structlog without rich.

    It would import that, and much besides, for tracebacks with the values of variables, which
    nobody is shown: a sixth of what `gossamer status` imports.
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
