"""The scenarios of runs: every other seed has random harms, the rest concentrate on one kind of
failure each, in turn.

Chance alone rarely combines the events that one fault needs, for example a Retry-After just before
all frontiers are away for longer than a lease. (Groce and others, *Swarm testing*, 2012.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

FIRST_SEED = 1
Setting = int | float


@dataclass(frozen=True)
class Scenario:
    """The world of a run, and its harms."""

    name: str
    harms: tuple[str, ...] = ()
    """The kinds of harm, all of which are done; empty: up to three random kinds."""
    times: tuple[int, int] = (1, 3)
    """Minimum and maximum number of harms of each kind."""
    until: float = 100.0
    """Seconds in which the harms are done."""
    hosts: tuple[int, int] = (2, 8)
    pages: tuple[int, int] = (2, 8)
    """Minimum and maximum of the largest number of pages of a host."""
    fan: int = 3
    """The number of pages of its host to which only this page links."""
    all_added: bool = False
    """Whether each page is a seed, so that each is discovered by itself."""
    crowd: int = 0
    """The hosts of one more site, `CROWD`."""
    delay: float = 0.0
    """Seconds between two requests to a host; 0: random."""
    mood: str = ""
    """The failure that half of the hosts show."""
    settings: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    rounds: int = 1
    """The scenario is run only in each `rounds`-th round of scenarios: a large world takes ten
    times as long."""
    turn: float = 15.0
    """Seconds that services wait for records; more than in production, so that a run is short."""
    interval: float = 0.0
    """Seconds between two visits to a page; 0: pages are not revisited."""
    crawls: tuple[float, ...] = (1.0,)
    """The weight of each crawl. Several crawls overlap: each lacks the hosts of one site."""
    lasts: float = 0.0
    """Seconds after which revisits stop."""
    addresses: int = 0
    """The number of addresses that all hosts share; 0: requests have no address."""


ANYTHING = Scenario("anything")
WIDE = Scenario("wide", hosts=(60, 60), pages=(2, 2))
REVISITS = Scenario(
    "revisits",
    until=150.0,
    hosts=(2, 4),
    pages=(2, 5),
    interval=60.0,
    # All harms and backoffs of servers are over by then.
    lasts=1000.0,
)
LATE_PAGES = replace(REVISITS, name="late pages", harms=("dedups late",), times=(1, 2))
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
ERASED = Scenario("erased", ("erased", "kill"), (1, 1), hosts=(3, 6), until=30.0)
RECORDS_SKIPPED = Scenario("records skipped", ("records skipped", "kill"), (1, 2), until=30.0)
STORE_RESTORED = Scenario(
    "store restored", ("store restored", "control lost", "kill"), (1, 1), until=60.0
)
LOG_RESTORED = Scenario("log restored", ("log restored", "kill"), (1, 1), until=60.0)
ALL_RESTORED = Scenario("all restored", ("all restored", "kill"), (1, 1), until=60.0)
QUIESCED = Scenario(
    "quiesced",
    ("snapshot", "kill", "frontier killed"),
    (1, 2),
    until=40.0,
    hosts=(6, 9),
    pages=(6, 15),
    delay=0.5,
    turn=1.0,  # The last service to quiesce is one that works.
)
UPGRADED = Scenario("upgraded", ("upgraded", "kill"), (1, 1), until=30.0, pages=(5, 15))
RESIZED = Scenario("resized", ("resized", "kill"), (1, 2), until=60.0, hosts=(4, 12))
TWO_CRAWLS = Scenario(
    "two crawls",
    ("paused", "kill", "frontier killed"),
    (1, 2),
    until=60.0,
    hosts=(4, 6),
    pages=(20, 40),
    # Both crawls have queues at each host, long enough to compare their shares.
    all_added=True,
    delay=0.5,
    settings={"frontier": {"worth_parking": False}},
    crawls=(1.0, 3.0),
)
CRAWL_REMOVED = replace(
    TWO_CRAWLS,
    name="crawl removed",
    harms=("removed", "kill", "frontier killed", "disk lost"),
    pages=(8, 20),
    crawls=(1.0, 1.0),
)
CRAWLS_CHANGED = Scenario(
    "crawls changed",
    ("defined", "redefined", "kill", "frontier killed", "disk lost"),
    (1, 2),
    until=15.0,
    hosts=(3, 6),
    pages=(20, 40),
    all_added=True,  # Queues are long, so that excluded URLs wait there.
    delay=1.0,
    # An order in flight is not ended by a change of the scope.
    settings={"frontier": {"batch": 2}},
    turn=1.0,
)
PARKED = Scenario(
    "parked",
    ("released", "blocked", "redefined", "shallower", "kill", "frontier killed"),
    (3, 8),
    until=90.0,
    hosts=(3, 6),
    pages=(20, 40),
    fan=2,
    delay=0.5,
    # Budgets are small, so that URLs are parked at their sites.
    settings={
        "frontier": {
            "batch": 2,
            "url_budget": 5,
            "depth_budget": 2,
            "seed_sites": 0,
            "budget_growth": 0.5,
        }
    },
    turn=1.0,
)
FETCHED = replace(
    CRAWLS_CHANGED,
    name="fetched",
    # Without the death of a fetcher, no visit may be repeated.
    harms=("fetch", "frontier killed", "disk lost"),
    times=(1, 4),
    until=60.0,
)
COMMITS_REFUSED = Scenario(
    "commits refused",
    ("commits refused", "kill", "add", "remove"),
    (1, 2),
    until=60.0,
    pages=(20, 40),
    all_added=True,
    delay=0.5,
)
KILLED_AT_SEND = Scenario(
    "killed at send", ("kill at send",), (3, 6), until=60.0, pages=(20, 40), all_added=True
)
SHARED_ADDRESS = Scenario(
    "shared address",
    ("freeze connected", "kill", "add"),
    (1, 3),
    until=90.0,
    hosts=(15, 25),
    pages=(5, 10),
    all_added=True,
    delay=0.5,
    # Orders outlast the leases of slots.
    settings={
        "frontier": {"batch": 4, "lease_slack": 60.0, "checked_out_limit": 50, "loaded_limit": 50},
        "fetcher": {"address_at_once": 4, "address_gap": 0.0, "orders_limit": 20},
    },
    turn=1.0,
    addresses=2,
)
CROWDED = Scenario(
    "crowded",
    ("kill",),
    (1, 1),
    until=30.0,
    hosts=(5, 6),
    pages=(2, 2),
    crowd=60,
    all_added=True,
    delay=0.5,
    # Memory for fewer hosts than the crowd has.
    settings={"frontier": {"loaded_limit": 10, "checked_out_limit": 10}},
)
FETCHERS_KILLED = Scenario(
    "fetchers killed",
    ("fetcher killed",),
    (2, 4),
    until=60.0,
    hosts=(4, 8),
    pages=(20, 40),
    all_added=True,
    delay=1.0,
    # The leases of a default fleet: a host that waits for one is silent for six minutes.
    settings={
        "frontier": {"lease_slack": 300.0, "checked_out_limit": 50, "loaded_limit": 50},
        "fetcher": {"visit_limit": 60.0},
    },
    turn=1.0,
)
ROBOTS_CHANGED = Scenario(
    "robots changed",
    ("robots changed", "kill"),
    (2, 4),
    until=15.0,
    hosts=(4, 6),
    pages=(30, 40),
    all_added=True,
    delay=4.0,
    settings={
        "frontier": {"batch": 2, "lease_slack": 9.0},
        # A crawl lasts for several times the age of its rules.
        "fetcher": {"robots_age": 20.0, "robots_age_floor": 20.0},
    },
    turn=1.0,
)
FENCED = Scenario(
    "fenced",
    ("freeze at send",),
    (3, 5),
    until=60.0,
    hosts=(8, 12),
    pages=(20, 30),
    all_added=True,
    delay=0.5,
    settings={
        # Messages of a process that was stopped are still sent when it has been replaced.
        "kafka": {"timeout": 30.0},
        "frontier": {"lease_slack": 60.0, "checked_out_limit": 50, "loaded_limit": 50},
    },
    turn=1.0,
)
FROZEN_AT_START = Scenario(
    "frozen at start",
    ("freeze while joining",),
    (2, 4),
    until=60.0,
    pages=(20, 40),
    all_added=True,
    delay=0.5,
    turn=1.0,
)
MOVED = Scenario("moved", ("moved", "kill"), (1, 1), until=60.0, hosts=(4, 12))
SCENARIOS = (
    Scenario(
        "torn flushes",
        ("die writing",),
        (1, 1),
        until=20.0,
        hosts=(2, 4),
        pages=(40, 60),
        fan=1,  # Queues are short, so that URLs beyond their ends are soon reached.
        delay=0.5,
        mood="flaky",
        settings={"frontier": {"batch": 4}},
    ),
    Scenario(
        "outcomes not consumed",
        ("frontiers away",),
        (1, 2),
        until=50.0,
        hosts=(5, 8),
        mood="busy",
        settings={"frontier": {"lease_slack": 9.0, "worth_parking": False}},
    ),
    Scenario(
        "slow takeovers",
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
        "short store outages",
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
        # With less memory than slots, waiting hosts would fill it.
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


RARE_SCENARIOS = {
    2: STORE_RESTORED,
    6: OPERATORS,
    28: RESIZED,
    10: WIDE,
    14: LISTINGS,
    22: QUIESCED,
    18: LATE_PAGES,
    26: REVISITS,
    20: ERASED,
    30: RECORDS_DELETED,
    12: RECORDS_SKIPPED,
    8: LOG_RESTORED,
    16: ALL_RESTORED,
    24: MOVED,
    4: UPGRADED,
}
"""Scenarios with one seed of 32 each, instead of random harms."""

SELDOM_SCENARIOS = {
    0: PARKED,
    32: TWO_CRAWLS,
    64: CRAWL_REMOVED,
    96: ROBOTS_CHANGED,
    128: CRAWLS_CHANGED,
    160: FETCHERS_KILLED,
    192: CROWDED,
    224: FETCHED,
}
"""Scenarios with one seed of 256 each."""

RAREST_SCENARIOS = {
    352: FENCED,
    384: COMMITS_REFUSED,
    416: FROZEN_AT_START,
    448: KILLED_AT_SEND,
    480: SHARED_ADDRESS,
}
"""Scenarios with one seed of 512 each."""

NAMES = (
    ANYTHING.name,
    *(
        dict.fromkeys(
            scenario.name
            for scenario in (
                *SCENARIOS,
                *RARE_SCENARIOS.values(),
                *SELDOM_SCENARIOS.values(),
                *RAREST_SCENARIOS.values(),
            )
        )
    ),
)
"""The names of all scenarios."""


def scenario_of(seed: int) -> Scenario:
    turn, place = divmod(seed // 2, len(SCENARIOS))
    if seed % 2 and turn % SCENARIOS[place].rounds == 0:
        return SCENARIOS[place]
    seldom = SELDOM_SCENARIOS.get(seed % 256, ANYTHING)
    return RARE_SCENARIOS.get(seed % 32, RAREST_SCENARIOS.get(seed % 512, seldom))


def seeds_of(name: str, first: int = FIRST_SEED) -> Iterator[int]:
    """Yield the seeds of the scenario of that *name*, from *first* on."""
    return (seed for seed in count(first) if scenario_of(seed).name == name)
