"""`gossamer completion SHELL`: a script that completes commands, options and values in a shell."""

import argparse
from collections.abc import Iterator

from gossamer.console.cli.main import build_parser

SHELLS = ("bash", "zsh", "fish")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"{', '.join(SHELLS)}")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    parser, files = build_parser(None), {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
    for action in _actions(parser):
        if isinstance(action, argparse._SubParsersAction):
            # The help lists commands by itself, and hides this list of them.
            action.help = None
        if isinstance(action.metavar, str) and action.metavar in files:
            action.complete = files[action.metavar]  # type: ignore[attr-defined]
    print(shtab.complete(parser, options.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of *parser* and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
