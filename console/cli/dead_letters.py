"""`gossamer dead-letters`: what could not be read or processed, and appending it again."""

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import msgspec

from console.cli.options import add_place, place_of
from console.printable import printable
from gossamer.codec import decode, revived
from gossamer.errors import BadSettings, GossamerError, Poison
from gossamer.events import DeadLetter
from gossamer.log import Log, Message
from gossamer.topics import DEAD_LETTERS, TOPICS

LONGEST, LATEST = 500, 250_000_000_000.0
"""Characters of a line, and the last instant that has a year of four digits."""
BATCH_BYTES = 8 << 20

Named = tuple[str, DeadLetter]
"""A letter with its PARTITION/OFFSET."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    actions = command.add_subparsers(required=True, metavar="ACTION")
    show = actions.add_parser("list", help="one line each, oldest first")
    show.add_argument("--json", action="store_true", help="whole, with the bytes in base64")
    show.set_defaults(act=_list)
    again = actions.add_parser("replay", help="append them to where they came from")
    again.add_argument("letters", nargs="*", metavar="PARTITION/OFFSET", help="as list names them")
    again.add_argument("--all", action="store_true", help="all of them")
    again.set_defaults(act=_replay)
    for action in (show, again):
        action.add_argument("--service", metavar="NAME", help="only those that this one buried")
        add_place(action)


def run(options: argparse.Namespace) -> int:
    """List or replay."""
    act: Callable[[argparse.Namespace], int] = options.act
    return act(options)


def _list(options: argparse.Namespace) -> int:
    with place_of(options) as place:
        for name, letter in _letters(place.log, options.service):
            print(_as_json(name, letter) if options.json else _as_line(name, letter))
    return 0


def _replay(options: argparse.Namespace) -> int:
    if bool(options.letters) == options.all:
        raise BadSettings("name letters as PARTITION/OFFSET, or say --all")
    with place_of(options) as place:
        # What comes back while this runs is not appended for ever.
        there = [name for name, _ in _letters(place.log, options.service)]
        wanted = set(there if options.all else options.letters)
        if unknown := wanted.difference(there):
            raise GossamerError(f"no such dead letters: {printable(', '.join(sorted(unknown)))}")
        chosen = (named for named in _letters(place.log, options.service) if named[0] in wanted)
        for batch in _batches(chosen):
            place.log.append(batch)
    print(f"{len(wanted):,} dead letters appended again.")
    return 0


def _batches(letters: Iterator[Named]) -> Iterator[list[Message]]:
    batch: list[Message] = []
    size = 0
    for name, letter in letters:
        if letter.topic not in TOPICS:
            raise GossamerError(f"dead letter {name} is of no topic of ours: {letter.topic!r}")
        batch.append(revived(letter))
        size += len(letter.value)
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _as_json(name: str, letter: DeadLetter) -> str:
    return msgspec.json.encode({"letter": name, **msgspec.to_builtins(letter)}).decode()


def _as_line(name: str, letter: DeadLetter) -> str:
    at = datetime.fromtimestamp(min(max(letter.at, 0.0), LATEST), UTC).strftime("%Y-%m-%d %H:%M:%S")
    place = f"{letter.topic}/{letter.partition}/{letter.offset}"
    return printable(f"{name}  {at} UTC  {letter.service}  {place}  {letter.reason}", LONGEST)


def _letters(log: Log, service: str | None) -> Iterator[Named]:
    """Yield the letters that *service* buried, or everybody; what is none is left out."""
    tail = log.tail([DEAD_LETTERS.name])
    while records := tail.poll(0):
        for record in records:
            try:
                letter = decode(record)
            except Poison:
                continue
            if isinstance(letter, DeadLetter) and service in (None, letter.service):
                yield f"{record.partition}/{record.offset}", letter
