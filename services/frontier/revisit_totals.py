"""Totals of the plans of all partitions, for people and for metrics."""

from collections import Counter
from dataclasses import dataclass, field

from gossamer.policies import NEVER
from services.frontier import revisit
from services.frontier.revisit import CrawlState
from services.frontier.rows import PartitionPlansRow


@dataclass
class RevisitTotals:
    """Sums over partitions. Begin empty, and `add` each partition."""

    policy: str = NEVER
    """The active policy. During a change, the policy of at least one partition."""
    budget: float = 0.0
    """The visits a day that the crawl may make; 0 for as many as politeness allows."""
    planned: int = 0
    """The planned visits; under the policy `none`, the pages with a state."""
    next_at: float | None = None
    """The time of the next planned visit; None if none is due within the hour."""
    spent: Counter[str] = field(default_factory=Counter)
    """Basis (`services.frontier.revisit.Basis`) → the number of ordered visits."""
    liars: int = 0
    """The number of hosts whose validators are distrusted."""
    weights: float = 0.0
    """The sum of the weights of pages with planned visits."""
    fresh: float = 0.0
    """The sum of weights times expected freshness."""
    age: float = 0.0
    """The sum of weights times expected age in days."""
    price: float = 0.0
    """The sum of weights times the price in days of freshness."""
    pages: float = 0.0
    """The number of visited pages."""
    unseen: float = 0.0
    """The number of pages that were visited once."""
    waiting: int = 0
    """The number of first visits that wait for the budget."""

    def add(self, row: PartitionPlansRow, crawl: CrawlState | None = None) -> None:
        """Add a partition; *crawl* is its decoded statistics, if available."""
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
        """Whether any revisit is planned."""
        return self.policy != NEVER and bool(self.planned)

    @property
    def learning(self) -> bool:
        """Whether most pages were visited only once, so that change rates are not yet known."""
        return self.unseen > self.pages / 2

    @property
    def expected_freshness(self) -> float | None:
        """The expected fraction of pages, by weight, whose copy equals the page: 0 to 1.

        None without planned visits, or if change rates are not yet known.
        """
        return self.fresh / self.weights if self.weights and not self.learning else None

    @property
    def expected_age(self) -> float | None:
        """The expected mean age of copies, in seconds.

        None without planned visits, or if change rates are not yet known.
        """
        return self.age / self.weights * revisit.DAY if self.weights and not self.learning else None

    @property
    def mean_price(self) -> float | None:
        """The mean price of a visit, in seconds of freshness of a page of weight 1; None without a
        price."""
        return self.price / self.weights * revisit.DAY if self.price else None
