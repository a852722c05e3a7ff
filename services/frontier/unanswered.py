"""How many orders are unanswered at each partition of `visits.ordered`."""

from collections import Counter, defaultdict

from services.frontier.rows import HOME, HostRow


class Unanswered:
    """Those of one frontier, by the partition of their sites as well."""

    def __init__(self) -> None:
        self._counts = defaultdict[int, Counter[int]](Counter)

    def add(self, home: int, row: HostRow) -> None:
        """The host of *row*, of a site of the partition *home*, is checked out."""
        self._counts[home][home if row.sent_to == HOME else row.sent_to] += 1

    def remove(self, home: int, row: HostRow) -> None:
        """It is checked out no more."""
        self._counts[home][home if row.sent_to == HOME else row.sent_to] -= 1

    def of(self, home: int) -> dict[str, int]:
        """Return by partition the orders of the sites of *home*, as the store has them."""
        return {str(at): count for at, count in self._counts[home].items() if count}

    def all(self) -> Counter[int]:
        """Return by partition the orders of all sites."""
        return sum(self._counts.values(), Counter[int]())
