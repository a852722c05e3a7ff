"""`gossamer dead-letters`: lists or replays records that could not be read or processed."""

import argparse
import sys
from collections.abc import Callable, Iterator

import msgspec

from console.cli.options import add_place, open_from
from console.output import say
from gossamer.errors import BadSettings, GossamerError, Poison
from gossamer.events import DeadLetter
from gossamer.log import Message
from gossamer.log.codec import message_of_letter
from gossamer.terminal import json_line, printable
from inspection.dead_letters import NamedLetter, iterate_letters
from inspection.figures import instant, plural

MAX_BATCH_BYTES = 8 << 20


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION")
    show = actions.add_parser("list", help="list them, one a line, oldest first")
    show.add_argument("--json", action="store_true", help="as JSON, with the bytes in base64")
    show.set_defaults(act=_list)
    again = actions.add_parser("replay", help="append them to their topics again")
    again.add_argument(
        "letters", nargs="*", metavar="PARTITION/OFFSET", help="the name in the list"
    )
    again.add_argument("--all", action="store_true", help="replay all of them")
    again.set_defaults(act=_replay)
    for action in (show, again):
        action.add_argument(
            "--service", metavar="NAME", help="only records that this service could not process"
        )
        add_place(action)


def run(options: argparse.Namespace) -> int:
    """List or replay the dead letters."""
    act: Callable[[argparse.Namespace], int] = options.act
    return act(options)


def _list(options: argparse.Namespace) -> int:
    with open_from(options) as crawl:
        for name, letter in iterate_letters(crawl.log, options.service):
            if options.json:
                print(_as_json(name, letter))
            else:
                say(_as_line(name, letter))
    return 0


def _replay(options: argparse.Namespace) -> int:
    if bool(options.letters) == options.all:
        raise BadSettings("name dead letters as PARTITION/OFFSET, or use --all")
    with open_from(options) as crawl:
        # Letters that come back during the replay are not replayed again.
        names = [name for name, _ in iterate_letters(crawl.log, options.service)]
        chosen = set(names if options.all else options.letters)
        if unknown := chosen.difference(names):
            raise GossamerError(
                f"no such dead letters: {printable(', '.join(sorted(unknown)))}; gossamer "
                "dead-letters list prints their names"
            )
        letters = (
            named for named in iterate_letters(crawl.log, options.service) if named[0] in chosen
        )
        replayed = 0
        for batch in _batches(letters):
            crawl.log.append(batch)
            replayed += len(batch)
    say(f"{plural(replayed, 'dead letter')} appended again.")
    return 0 if replayed == len(chosen) else 1


def _batches(letters: Iterator[NamedLetter]) -> Iterator[list[Message]]:
    """Yield the records of *letters* in batches; report those that cannot be replayed."""
    batch: list[Message] = []
    size = 0
    for name, letter in letters:
        try:
            batch.append(message_of_letter(letter))
        except Poison as error:
            text = printable(f"dead letter {name} cannot be replayed: {error}")
            print(f"gossamer: {text}", file=sys.stderr)
            continue
        size += len(batch[-1].value)
        if size > MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _as_json(name: str, letter: DeadLetter) -> str:
    return json_line(msgspec.json.encode({"letter": name, **msgspec.to_builtins(letter)}))


def _as_line(name: str, letter: DeadLetter) -> str:
    origin = f"{letter.topic}/{letter.partition}/{letter.offset}"
    columns = name, instant(letter.at), letter.service, origin, letter.reason
    return "  ".join(columns)
