"""`gossamer`: finds the command, and turns what goes wrong into a message and an exit status."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from console.cli import crawl, pages, why
from gossamer.errors import BadSettings, GossamerError

COMMANDS = {"crawl": crawl, "pages": pages, "why": why}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status: 0 done, 1 failed, 2 bad usage, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except BadSettings as error:
        print(f"gossamer: {error}", file=sys.stderr)
        return 2
    except GossamerError as error:
        print(f"gossamer: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has enough: that is no failure. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gossamer", description="A polite web crawler.")
    parser.add_argument("--version", action="version", version=f"gossamer {version('gossamer')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = str(module.SUMMARY)
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_options(command)
        command.set_defaults(run=module.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
