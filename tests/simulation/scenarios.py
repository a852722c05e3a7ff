"""What a run is like: every other seed is of any kind, the others dwell on one trouble, in turn.

Chance alone rarely brings together what one fault needs: a host that asks for time just before all
frontiers are away for longer than a lease. (Groce and others, *Swarm testing*, 2012.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

Setting = int | float


@dataclass(frozen=True)
class Scenario:
    """The world of a run, and what is done to it."""

    name: str
    harms: tuple[str, ...] = ()
    """What is done, all of it; if nothing is named, any three kinds at the most."""
    times: tuple[int, int] = (1, 3)
    """How often each is done, from and to."""
    until: float = 100.0
    """Seconds in which it is done."""
    hosts: tuple[int, int] = (2, 8)
    pages: tuple[int, int] = (2, 8)
    """The most pages of a host, from and to."""
    fan: int = 3
    """How many pages of its host a page leads to that no other does."""
    all_added: bool = False
    """Whether each page is a seed, so that each is met by itself."""
    delay: float = 0.0
    """Seconds between two requests to a host; 0: any."""
    mood: str = ""
    """What half of the hosts are like."""
    settings: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    rounds: int = 1
    """It has its turn in every so many rounds: a large world takes ten times as long."""
    turn: float = 15.0
    """Seconds that services wait for records; more than they do, so that a run is short."""
    interval: float = 0.0
    """Seconds after which pages are visited again; 0: never."""
    lasts: float = 0.0
    """Seconds until nothing is visited again any more."""


ANYTHING = Scenario("anything")
WIDE = Scenario("wide", hosts=(60, 60), pages=(2, 2))
COMING_BACK = Scenario(
    "coming back",
    until=150.0,
    hosts=(2, 4),
    pages=(2, 5),
    interval=60.0,
    # All that was done is over by then, and what a server asked for in its trouble.
    lasts=1000.0,
)
LATE_PAGES = replace(COMING_BACK, name="late pages", harms=("dedups late",), times=(1, 2))
OPERATORS = Scenario(
    "operators",
    ("site off", "site slower", "blocked", "paused", "kill"),
    hosts=(3, 8),
    pages=(5, 20),
    turn=1.0,
)
LISTINGS = Scenario("listings", ("long sitemap",), (1, 2), until=20.0)
RECORDS_DELETED = Scenario(
    "records deleted", ("records deleted", "frontiers away"), (1, 2), until=40.0
)
FORGOTTEN = Scenario("forgotten", ("forgotten", "kill"), (1, 1), hosts=(3, 6), until=30.0)
LEFT_OUT = Scenario("records left out", ("records left out", "kill"), (1, 2), until=30.0)
RESTORED = Scenario("restored", ("store put back", "control lost", "kill"), (1, 1), until=60.0)
LOG_RESTORED = Scenario("log restored", ("log put back", "kill"), (1, 1), until=60.0)
ALL_RESTORED = Scenario("all restored", ("all put back", "kill"), (1, 1), until=60.0)
QUIESCED = Scenario(
    "quiesced",
    ("snapshot", "kill", "frontier killed"),
    (1, 2),
    until=40.0,
    hosts=(6, 9),
    pages=(6, 15),
    delay=0.5,
    turn=1.0,  # The last one to rest is one that works.
)
UPGRADED = Scenario("upgraded", ("upgraded", "kill"), (1, 1), until=30.0, pages=(5, 15))
RESIZED = Scenario("resized", ("resized", "kill"), (1, 2), until=60.0, hosts=(4, 12))
MOVED = Scenario("moved", ("moved", "kill"), (1, 1), until=60.0, hosts=(4, 12))
SCENARIOS = (
    Scenario(
        "torn flushes",
        ("die writing",),
        (1, 1),
        until=20.0,
        hosts=(2, 4),
        pages=(40, 60),
        fan=1,  # Queues stay short: what lies beyond their ends is soon reached.
        delay=0.5,
        mood="flaky",
        settings={"frontier": {"batch": 4}},
    ),
    Scenario(
        "nobody reads the outcomes",
        ("frontiers away",),
        (1, 2),
        until=50.0,
        hosts=(5, 8),
        mood="busy",
        settings={"frontier": {"lease_slack": 9.0}},
    ),
    Scenario(
        "taking over slowly",
        ("Cassandra very slow", "frontiers away"),
        (1, 2),
        hosts=(120, 120),
        pages=(2, 2),
        settings={"frontier": {"checked_out_limit": 2, "loaded_limit": 200}},
        rounds=8,
    ),
    Scenario(
        "many links",
        ("kill",),
        (1, 2),
        hosts=(2, 2),
        pages=(400, 500),
        fan=500,
        all_added=True,
        settings={"frontier": {"batch": 4}},
        rounds=8,
    ),
    Scenario(
        "hiccups of the store",
        ("Cassandra hiccup", "overloaded", "node away"),
        (3, 6),
        settings={"frontier": {"lease_slack": 60.0}},
    ),
    Scenario(
        "one slow archive",
        ("archive slow",),
        (1, 1),
        until=20.0,
        hosts=(5, 8),
        pages=(6, 9),
        # Less memory than slots would be filled by the hosts that wait.
        settings={"fetcher": {"unparsed_limit": 3}, "frontier": {"loaded_limit": 50}},
    ),
    Scenario("fetchers' clocks", ("fetcher ahead",), (2, 4), until=30.0, pages=(6, 10)),
    Scenario(
        "little memory",
        ("frontier killed",),
        (2, 5),
        hosts=(6, 9),
        settings={"frontier": {"loaded_limit": 2}},
    ),
    Scenario("frontiers' clocks", ("frontier jumps", "frontier killed"), (2, 4)),
    Scenario("takeovers", ("freeze", "freeze in claim", "add", "remove", "kill")),
    Scenario("acknowledgements", ("Kafka slow", "Kafka away", "cut off", "undecided")),
)


OTHERS = {
    2: RESTORED,
    6: OPERATORS,
    28: RESIZED,
    10: WIDE,
    14: LISTINGS,
    22: QUIESCED,
    18: LATE_PAGES,
    26: COMING_BACK,
    20: FORGOTTEN,
    30: RECORDS_DELETED,
    12: LEFT_OUT,
    8: LOG_RESTORED,
    16: ALL_RESTORED,
    24: MOVED,
    4: UPGRADED,
}
"""Those that have a turn in 32 seeds, in place of anything."""


def scenario_of(seed: int) -> Scenario:
    """Return the scenario of a run."""
    turn, place = divmod(seed // 2, len(SCENARIOS))
    if seed % 2 and turn % SCENARIOS[place].rounds == 0:
        return SCENARIOS[place]
    return OTHERS.get(seed % 32, ANYTHING)


def seeds_of(name: str, first: int = 0) -> Iterator[int]:
    """Yield the seeds of the scenario of that *name*, from *first* on."""
    return (seed for seed in count(first) if scenario_of(seed).name == name)
