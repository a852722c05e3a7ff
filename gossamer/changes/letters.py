"""Dead letters: replay them, or discard them."""

from collections.abc import Callable, Collection, Iterator

from gossamer.changes.plan import Action, Effect, Plan
from gossamer.errors import Poison
from gossamer.events.topics import DEAD_LETTERS
from gossamer.inspection.basics.figures import first_few, plural
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.dead_letters import NamedLetter, iterate_letters
from gossamer.log import Message
from gossamer.log.codec import message_of_letter
from gossamer.terminal import printable


def plan_replay(
    crawl: OpenCrawl, names: Collection[str] | None = None, service: str | None = None
) -> Plan:
    """Return the plan that appends dead letters to their topics again.

    *names* choose them; None means all of *service*, or of all services. Letters that return during
    the replay are not replayed again. Raise NotFound if a name is unknown.
    """
    found, refused = dict[str, None](), list[str]()
    for one in _choose_letters(crawl, names, service):
        try:
            message_of_letter(one.letter)
            found[one.name] = None
        except Poison as error:
            refused.append(printable(f"dead letter {one.name} cannot be replayed: {error}"))
    effect = Effect(
        text=f"{plural(len(found), 'dead letter')} appended again.",
        refused=tuple(refused),
        count=len(found),
    )
    return _plan("replay", crawl, found, service, effect, lambda one: message_of_letter(one.letter))


def plan_discard(
    crawl: OpenCrawl, names: Collection[str] | None = None, service: str | None = None
) -> Plan:
    """Return the plan that erases dead letters, chosen as by `plan_replay`."""
    found = dict.fromkeys(one.name for one in _choose_letters(crawl, names, service))
    effect = Effect(text=f"{plural(len(found), 'dead letter')} discarded.", count=len(found))
    return _plan("discard", crawl, found, service, effect, _tombstone)


def _plan(
    action: Action,
    crawl: OpenCrawl,
    names: Collection[str],
    service: str | None,
    effect: Effect,
    message: Callable[[NamedLetter], Message],
) -> Plan:
    return Plan(
        action=action,
        subject=first_few([*names]),
        # A letter has up to a megabyte, so the letters are read again while they are appended.
        requests=map(message, iterate_letters(crawl.log, service, names)),
        effect=effect,
    )


def _choose_letters(
    crawl: OpenCrawl, names: Collection[str] | None, service: str | None
) -> Iterator[NamedLetter]:
    unknown = set(names or ())
    for one in iterate_letters(crawl.log, service, names):
        unknown.discard(one.name)
        yield one
    if unknown:
        raise NotFound(
            f"no such dead letters: {printable(', '.join(sorted(unknown)))}; gossamer "
            "dead-letters list prints their names"
        )


def _tombstone(one: NamedLetter) -> Message:
    return Message(DEAD_LETTERS.name, one.key, b"", one.key)
