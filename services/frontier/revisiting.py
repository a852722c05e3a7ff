"""How coming back stands: what the plans of all partitions come to, for people and for metrics."""

from collections import Counter
from dataclasses import dataclass, field

from gossamer.policies import NEVER
from services.frontier import revisit
from services.frontier.revisit import CrawlState
from services.frontier.rows import PartitionPlansRow


@dataclass
class Revisiting:
    """Sums over partitions; begin with none, and `add` each."""

    policy: str = NEVER
    """In force; while a new one is taken up, in some partition at least."""
    budget: float = 0.0
    """Visits a day; 0: as many as politeness allows."""
    planned: int = 0
    """Visits that are planned; where pages are visited once, pages that are remembered."""
    next_at: float | None = None
    """When the next planned visit is due; None: not within the hour."""
    spent: Counter[str] = field(default_factory=Counter)
    """What decided when (`services.frontier.revisit.Basis`) → how many visits were ordered."""
    liars: int = 0
    """Hosts whose validators have lied."""
    weights: float = 0.0
    """Of the pages to which a visit is planned, in all…"""
    fresh: float = 0.0
    """…each with its expected freshness…"""
    age: float = 0.0
    """…its expected age in days…"""
    price: float = 0.0
    """…and the days of freshness that a visit must bring."""
    pages: float = 0.0
    """Pages that were visited …"""
    unseen: float = 0.0
    """… and those of them that were visited once."""
    waiting: int = 0
    """URLs that were never visited, and wait for the budget."""

    def add(self, row: PartitionPlansRow, crawl: CrawlState | None = None) -> None:
        """Add a partition; *crawl* is what its statistics say, if that was read already."""
        crawl = crawl or revisit.unpack_crawl(row.statistics)
        if row.policy != NEVER:
            self.policy = row.policy
        self.budget += crawl.budget
        self.planned += row.planned
        self.waiting += row.waiting
        self.spent.update(row.spent)
        self.liars += row.liars
        self.weights += crawl.weights
        self.fresh += crawl.fresh
        self.age += crawl.age
        self.price += crawl.price * crawl.weights
        self.pages += crawl.pages
        self.unseen += crawl.unseen
        if row.next_at is not None:
            self.next_at = min(row.next_at, self.next_at or row.next_at)

    @property
    def active(self) -> bool:
        """Whether any page is to be visited again."""
        return self.policy != NEVER and bool(self.planned)

    @property
    def learning(self) -> bool:
        """Whether most pages were visited only once, so that their change rates are guesses."""
        return self.unseen > self.pages / 2

    @property
    def expected_freshness(self) -> float | None:
        """The share of the pages, by weight, whose copy is expected to be as the page is.

        None: no page is kept fresh, or change rates are not yet known.
        """
        return self.fresh / self.weights if self.weights and not self.learning else None

    @property
    def expected_age(self) -> float | None:
        """For how many seconds copies are expected to have been out of date, on the average.

        None: as of `expected_freshness`.
        """
        return self.age / self.weights * revisit.DAY if self.weights and not self.learning else None

    @property
    def mean_price(self) -> float | None:
        """The seconds of freshness of a page of weight 1 that a visit must bring; None: no price
        decides."""
        return self.price / self.weights * revisit.DAY if self.price else None
