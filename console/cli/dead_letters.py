"""`gossamer dead-letters`: what could not be read or processed, and appending it again."""

import argparse
from collections.abc import Callable, Iterator

import msgspec

from console.cli.options import add_crawl, open_from
from console.figures import instant, plural
from gossamer.errors import BadSettings, GossamerError, Poison
from gossamer.events import DeadLetter
from gossamer.events.topics import DEAD_LETTERS, TOPICS
from gossamer.log import Log, Message
from gossamer.log.codec import decode, message_of_letter
from gossamer.terminal import json_line, printable

LONGEST = 500
"""Characters of a line."""
BATCH_BYTES = 8 << 20

Named = tuple[str, DeadLetter]
"""A letter with its PARTITION/OFFSET."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    actions = command.add_subparsers(required=True, metavar="ACTION")
    show = actions.add_parser("list", help="one line each, oldest first")
    show.add_argument("--json", action="store_true", help="whole, with the bytes in base64")
    show.set_defaults(act=_list)
    again = actions.add_parser("replay", help="append them to where they came from")
    again.add_argument("letters", nargs="*", metavar="PARTITION/OFFSET", help="as list names them")
    again.add_argument("--all", action="store_true", help="all of them")
    again.set_defaults(act=_replay)
    for action in (show, again):
        action.add_argument("--service", metavar="NAME", help="only those of this service")
        add_crawl(action)


def run(options: argparse.Namespace) -> int:
    """List or replay."""
    act: Callable[[argparse.Namespace], int] = options.act
    return act(options)


def _list(options: argparse.Namespace) -> int:
    with open_from(options) as crawl:
        for name, letter in _letters(crawl.log, options.service):
            print(_as_json(name, letter) if options.json else _as_line(name, letter))
    return 0


def _replay(options: argparse.Namespace) -> int:
    if bool(options.letters) == options.all:
        raise BadSettings("name letters as PARTITION/OFFSET, or say --all")
    with open_from(options) as crawl:
        # What comes back while this runs is not appended for ever.
        there = [name for name, _ in _letters(crawl.log, options.service)]
        wanted = set(there if options.all else options.letters)
        if unknown := wanted.difference(there):
            raise GossamerError(f"no such dead letters: {printable(', '.join(sorted(unknown)))}")
        chosen = (named for named in _letters(crawl.log, options.service) if named[0] in wanted)
        for batch in _batches(chosen):
            crawl.log.append(batch)
    print(f"{plural(len(wanted), 'dead letter')} appended again.")
    return 0


def _batches(letters: Iterator[Named]) -> Iterator[list[Message]]:
    batch: list[Message] = []
    size = 0
    for name, letter in letters:
        if letter.topic not in TOPICS:
            raise GossamerError(f"dead letter {name} is of no topic of ours: {letter.topic!r}")
        batch.append(message_of_letter(letter))
        size += len(letter.value)
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _as_json(name: str, letter: DeadLetter) -> str:
    return json_line(msgspec.json.encode({"letter": name, **msgspec.to_builtins(letter)}))


def _as_line(name: str, letter: DeadLetter) -> str:
    origin = f"{letter.topic}/{letter.partition}/{letter.offset}"
    columns = name, instant(letter.at), letter.service, origin, letter.reason
    return printable("  ".join(columns), LONGEST)


def _letters(log: Log, service: str | None) -> Iterator[Named]:
    """Yield the dead letters of *service*, or of all; leave out what cannot be read."""
    tail = log.tail([DEAD_LETTERS.name])
    while records := tail.poll(0):
        for record in records:
            if not record.value:
                continue  # It was erased.
            try:
                letter = decode(record)
            except Poison:
                continue
            if isinstance(letter, DeadLetter) and service in (None, letter.service):
                yield f"{record.partition}/{record.offset}", letter
