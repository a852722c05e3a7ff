"""Statements about future changes count as far as earlier ones were right."""

from random import Random

from gossamer.services.frontier.revisit import (
    Basis,
    CrawlState,
    Evidence,
    Hint,
    Kind,
    PageState,
    SiteState,
    States,
    Visit,
    likelihood_ratio,
    make_policy,
    pack,
    unpack_page,
)
from gossamer.services.frontier.revisit.state import DAY

URL, BEGIN = "https://www.example.org/news", 1.7e9
OPTIMAL = make_policy("optimal")
DAYS = 120


class Life:
    """A page with an expiry, or with a changefreq from its site. It is visited as planned, and
    sometimes on request."""

    def __init__(self, changes: list[float], says: Kind, true: bool) -> None:
        self.changes, self.says, self.true = sorted(changes), says, true
        crawl = CrawlState(budget=1.0, price=0.05, priced_at=BEGIN + 1e9)
        self.states = States(PageState(), SiteState(), crawl)
        self.late: list[float] = []
        self.visits = 0
        self.bases: list[Basis | None] = []

    def next_change(self, now: float) -> float:
        return min((at for at in self.changes if at > now), default=BEGIN + 2 * DAYS * DAY)

    def live(self, random: Random) -> None:
        now, last, requested_at = BEGIN, BEGIN, BEGIN
        while now < BEGIN + DAYS * DAY:
            change = self.next_change(last)
            changed = self.visits > 0 and change <= now
            if changed:
                self.late.append((now - change) / DAY)
            until = self.next_change(now) if self.true else now + 600.0
            expires = until if self.says is Kind.EXPIRES else 0.0
            visit = Visit(URL, now, changed, expires_at=expires)
            self.states, plan = OPTIMAL.record_visit(self.states, visit)
            if self.says is Kind.CHANGEFREQ:
                hint = Hint(URL, now, Evidence(Kind.CHANGEFREQ, 0.0, until - now))
                self.states, _ = OPTIMAL.record_hint(self.states, hint)
                self.states, plan = OPTIMAL.replan(self.states, URL)
            assert plan.at is not None
            self.visits += 1
            self.bases.append(plan.basis)
            requested_at = now + random.expovariate(1 / (3 * DAY))
            last, now = now, max(now + 60.0, min(plan.at, requested_at))


def irregular(random: Random) -> list[float]:
    """Return changes at irregular times, so that only statements of the server help."""
    found, at = list[float](), BEGIN
    while at < BEGIN + DAYS * DAY:
        at += random.choice([0.4, 3.0, 6.0]) * DAY
        found.append(at)
    return found


def test_page_with_reliable_expiry_is_visited_then_with_fewer_visits() -> None:
    changes = irregular(Random(1))
    told, silent = Life(changes, Kind.EXPIRES, True), Life(changes, Kind.LINK, True)
    told.live(Random(2))
    silent.live(Random(2))
    assert likelihood_ratio(told.states.site, Kind.EXPIRES) > 5
    assert Basis.HINT in told.bases[-5:]
    later = told.late[len(told.late) // 2 :]
    assert sorted(later)[len(later) // 2] < 0.01
    assert sum(later) / len(later) < 0.5 * sum(silent.late) / len(silent.late)
    assert told.visits <= silent.visits


def test_expiry_that_is_always_near_is_ignored() -> None:
    changes = irregular(Random(1))
    told, silent = Life(changes, Kind.EXPIRES, False), Life(changes, Kind.LINK, False)
    told.live(Random(2))
    silent.live(Random(2))
    assert likelihood_ratio(told.states.site, Kind.EXPIRES) < 2
    assert Basis.HINT not in told.bases
    assert told.visits == silent.visits


def test_changefreq_gains_trust_like_expiry() -> None:
    life = Life(irregular(Random(3)), Kind.CHANGEFREQ, True)
    life.live(Random(4))
    assert life.states.page.every
    assert sum(life.states.site.trust[Kind.CHANGEFREQ]) > 10
    assert likelihood_ratio(life.states.site, Kind.CHANGEFREQ) > 5
    assert unpack_page(pack(life.states.page)) == life.states.page


def test_changefreq_always_and_never_are_ignored() -> None:
    states = OPTIMAL.record_visit(
        States(PageState(), SiteState(), CrawlState()), Visit(URL, BEGIN)
    ).states
    for every in (0.0, 60.0, 1e9):
        hint = Hint(URL, BEGIN + 60, Evidence(Kind.CHANGEFREQ, 0.0, every))
        assert OPTIMAL.record_hint(states, hint).states == states


def test_periodic_page_with_a_late_report_is_still_planned() -> None:
    states, plan = States(PageState(), SiteState(), CrawlState(budget=1.0)), None
    for day in range(20):
        states, plan = OPTIMAL.record_visit(states, Visit(URL, BEGIN + day * DAY, day % 2 == 0))
    due = states.page.clock.next_at
    assert due
    states, plan = OPTIMAL.record_visit(states, Visit(URL, due, False))
    assert states.page.clock.next_at
    states, plan = OPTIMAL.record_visit(states, Visit(URL, due - 2 * DAY, True))
    assert plan and plan.at
