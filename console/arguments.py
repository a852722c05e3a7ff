"""An argument parser that refuses abbreviated options, and names the option that was meant."""

import argparse
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from console.output import print_error

MIN_SIMILARITY = 0.6


class Parser(argparse.ArgumentParser):
    """Options are given in full: an abbreviation of today is ambiguous with an option of tomorrow.

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
        """Exit with a message unless *name* is one of *names*, which are of a *kind*."""
        if name in names:
            return
        longer = [one for one in names if one.startswith(name)]
        meant = longer or get_close_matches(name, names, 1, MIN_SIMILARITY)
        hint = f": did you mean {' or '.join(meant)}?" if meant else ""
        self.error(f"unknown {kind} {name}{hint}")

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 after *message*, without the usage of all options."""
        print_error(self.prog, f"{message}\n{self.prog} --help lists what can be given.")
        self.exit(2)

    def option_names(self) -> Iterator[str]:
        """Yield the long options of this parser and of its subcommands."""
        for action in self._actions:
            yield from (name for name in action.option_strings if name.startswith("--"))
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser.option_names()
