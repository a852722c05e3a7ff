"""The conversation of an order in virtual time: without sockets and clocks, for any response."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Event, Outcome, PageFetched, Purpose, VisitEnded
from gossamer.services.fetcher.outcome import Failure, Reply, accept_any
from gossamer.services.fetcher.steps import Delay, Emit, Fetch, Step, StepResult, VisitLimits
from gossamer.services.fetcher.visit import converse
from gossamer.web.robots import RobotsRules, parse_robots
from tests.fetcher.orders import order

VISIT_LIMITS = VisitLimits(
    "gossamer",
    accept_any,
    60.0,
    1000,
    {},
    1000,
    1000,
    robots_age=86400.0,
    robots_age_floor=3600.0,
    requisite_limit=30,
    cookies=10,
    cookie_size=1000,
)
HOST = "http://example.org"
ROBOTS = parse_robots(b"User-agent: *\nDisallow: /no", "gossamer", 0.0, 1e9).rules

ENDS_ORDER = {
    Outcome.DNS_FAILURE, Outcome.DNS_UNANSWERED, Outcome.HOST_DOWN, Outcome.TLS_FAILURE,
    Outcome.SILENT_SERVER, Outcome.PRIVATE_ADDRESS, Outcome.BLACKLISTED, Outcome.BUSY,
    Outcome.UNVISITED, Outcome.INTERNAL_ERROR, Outcome.CHALLENGED, Outcome.SIGNATURE_ASKED,
}  # fmt: skip

Answer = Reply | Failure


@dataclass
class World:
    """Gives its answers in order, and repeats the last one. Steps let time pass."""

    answers: list[Answer]
    now: float = 1000.0
    paused_from: float = float("inf")
    asked: list[tuple[float, str]] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    emitted: list[Event] = field(default_factory=list)

    def carry_out(self, **fields: Any) -> list[VisitEnded]:
        urls = fields.pop("urls", (f"{HOST}/a", f"{HOST}/b", f"{HOST}/c"))
        given = order(*urls, **{"expires_at": 1e6, "robots": ROBOTS, **fields})
        talk = converse(given, VISIT_LIMITS, self.now)
        result = None
        try:
            while True:
                result = self._take(next(talk) if result is None else talk.send(result))
        except StopIteration:
            return self.ended

    def _take(self, step: Step) -> StepResult:
        answer = None
        match step:
            case Delay(seconds=seconds):
                self.now = max(self.now, min(self.now + seconds, self.paused_from))
            case Fetch(url=url):
                self.asked.append((self.now, url))
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                self.now += answer.took
                self.left.append(self.now)
            case Emit(events=events):
                self.emitted += events
        return StepResult(self.now, self.now >= self.paused_from, answer)

    @property
    def ended(self) -> list[VisitEnded]:
        return [event for event in self.emitted if isinstance(event, VisitEnded)]

    @property
    def gaps(self) -> list[float]:
        """Return the seconds from the end of each request to the start of the next."""
        return [after - before for before, (after, _) in zip(self.left, self.asked[1:])]  # noqa: B905


def redirect(to: str, cookie: str = "", took: float = 2.0) -> Reply:
    headers = (("Location", to),) + ((("Set-Cookie", f"{cookie}; Path=/"),) if cookie else ())
    return Reply(status=302, headers=headers, took=took)


OK = Reply(status=200, body=b"hello", took=2.0)


def test_requests_of_a_cookie_wall_keep_the_pause() -> None:
    world = World([redirect("/a?set=1"), redirect("/a", "wall=1"), OK])
    ended = world.carry_out(urls=(f"{HOST}/a",), pause=7.0)
    assert [one.outcome for one in ended] == [Outcome.PAGE]
    assert [url for _, url in world.asked] == [f"{HOST}/a", f"{HOST}/a?set=1", f"{HOST}/a"]
    assert world.gaps == [7.0, 7.0]


REDIRECTS: dict[str, tuple[list[Reply], float, Outcome, int]] = {
    # Answers, the end of the lease; the outcome, and the number of requests
    "a changing cookie": (
        [redirect("/a", f"wall={n}") for n in range(50)], 1e6, Outcome.REDIRECT, 6),
    "back without a cookie": ([redirect("/a")], 1e6, Outcome.REDIRECT, 1),
    "beyond the lease": ([redirect("/a?set=1"), OK], 1061.0, Outcome.REDIRECT, 1),
    "beyond the lease, with a cookie": (
        [redirect("/a", "wall=1"), OK], 1061.0, Outcome.UNVISITED, 1),
    "through a disallowed URL": ([redirect("/no", "wall=1"), OK], 1e6, Outcome.REDIRECT, 1),
    "a busy host behind it": (
        [redirect("/b", "wall=1"), Reply(status=429, took=1.0)], 1e6, Outcome.BUSY, 2),
}  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "expires_at", "outcome", "requests"), REDIRECTS.values(), ids=REDIRECTS
)
def test_cookie_wall_that_is_not_passed(
    answers: list[Reply], expires_at: float, outcome: Outcome, requests: int
) -> None:
    world = World([*answers])
    [ended] = world.carry_out(urls=(f"{HOST}/a",), expires_at=expires_at)
    assert (ended.outcome, len(world.asked)) == (outcome, requests)
    assert ended.location == (answers[0].headers[0][1] if outcome == "redirect" else "")
    if outcome is Outcome.UNVISITED:
        assert (ended.took, [one.name for one in ended.cookies]) == (2.0, ["wall"])


def test_redirect_with_cookie_to_another_page_is_tried_once() -> None:
    """The visit ends with its last request: the frontier counts the pause from there."""
    world = World([redirect("/b", "session=1"), OK, redirect("/d", "session=2"), OK])
    ended = world.carry_out(urls=(f"{HOST}/a", f"{HOST}/c"))
    assert [(one.outcome, one.location) for one in ended] == [
        (Outcome.REDIRECT, "/b"),
        (Outcome.REDIRECT, "/d"),
    ]
    assert [url for _, url in world.asked] == [f"{HOST}/a", f"{HOST}/b", f"{HOST}/c"]


outcomes = st.sampled_from(
    [Outcome.DNS_FAILURE, Outcome.HOST_DOWN, Outcome.SILENT_SERVER, Outcome.BROKEN]
)
answers = st.one_of(
    st.builds(
        Reply,
        status=st.sampled_from([200, 204, 301, 304, 404, 403, 429, 500, 503, 999]),
        headers=st.sampled_from(
            [
                (),
                (("Location", "/robots.txt"),),
                (("Retry-After", "5"),),
                (("Location", "\x00"),),
                (("Location", "/a"), ("Set-Cookie", "wall=1; Path=/")),
                (("Location", "/a"), ("Set-Cookie", "wall=2; Path=/")),
                (("Location", "/a?set=1"),),
                (("Location", "/no"), ("Set-Cookie", "wall=3; Path=/")),
            ]
        ),
        truncated=st.sampled_from(["", "length", "time"]),
        took=st.floats(0, 60),
    ),
    st.builds(
        Failure, outcome=outcomes, reason=st.just("why"), took=st.floats(0, 60), stale=st.booleans()
    ),
)
visits = st.lists(st.sampled_from([f"{HOST}/a", f"{HOST}/no", f"{HOST}/b"]), min_size=1, max_size=8)


orders = st.fixed_dictionaries(
    {
        "urls": visits,
        "pause": st.floats(0, 100),
        "pause_factor": st.floats(0, 10),
        "expires_at": st.floats(1000, 2000),
        "purpose": st.sampled_from(Purpose),
    }
)


@given(st.lists(answers, min_size=1), orders, st.floats(1000, 2000))
def test_order_is_polite_and_ends_once_for_any_response(
    given_answers: list[Answer], fields: dict[str, Any], paused_from: float
) -> None:
    world = World(given_answers, paused_from=paused_from)
    took = [answer.took for answer in given_answers]
    ended = world.carry_out(**fields)
    assert [one.last for one in ended] == [False] * (len(ended) - 1) + [True]
    assert [one.index for one in ended] == list(range(len(ended)))
    assert len(ended) == len(fields["urls"]) or ended[-1].outcome in ENDS_ORDER
    assert all(gap >= fields["pause"] - 1e-6 for gap in world.gaps)
    assert all(
        gap >= fields["pause_factor"] * before - 1e-6
        for gap, before in zip(world.gaps, took, strict=False)
    )
    assert all(at + VISIT_LIMITS.visit_limit <= fields["expires_at"] for at, _ in world.asked)
    assert all(at < paused_from for at, _ in world.asked)
    if fields["purpose"] is Purpose.PAGE:
        assert f"{HOST}/no" not in {url for _, url in world.asked}
        assert all(one.robots is None for one in ended)


@given(st.lists(answers, min_size=1), visits)
def test_each_page_precedes_its_outcome(given_answers: list[Answer], urls: list[str]) -> None:
    world = World(given_answers)
    world.carry_out(urls=urls)
    for before, after in zip(world.emitted, world.emitted[1:], strict=False):
        if isinstance(before, PageFetched) and before.intermediate:
            assert isinstance(after, PageFetched | VisitEnded)
            assert after.visit.id == before.visit.id
        elif isinstance(before, PageFetched):
            assert isinstance(after, VisitEnded)
            assert after.visit == before.visit
            assert after.status == before.status


def test_only_failures_of_the_host_end_the_order() -> None:
    for outcome in Outcome:
        world = World([OK, Failure(outcome=outcome, reason="why")])
        rest = [] if outcome in ENDS_ORDER else [outcome]
        assert [one.outcome for one in world.carry_out()] == [Outcome.PAGE, outcome, *rest]


def test_broken_visit_is_followed_by_the_next() -> None:
    world = World([Failure(outcome=Outcome.MALFORMED_HEAD, reason="why", took=1.0), OK])
    assert [one.outcome for one in world.carry_out()] == ["malformed_head", "page", "page"]


def test_request_on_a_closing_connection_is_repeated_after_the_pause() -> None:
    stale = Failure(outcome=Outcome.MALFORMED_HEAD, reason="closed", took=1.0, stale=True)
    world = World([OK, stale, OK])
    assert [one.outcome for one in world.carry_out(pause=9.0)] == ["page"] * 3
    assert [url[-1] for _, url in world.asked] == ["a", "b", "b", "c"]
    assert world.gaps == [9.0, 9.0, 9.0]
    world = World([OK, stale, OK])
    ended = world.carry_out(pause=9.0, expires_at=1080.0)
    assert [one.outcome for one in ended] == ["page", "malformed_head", "unvisited"]


def test_pause_is_the_longer_of_two() -> None:
    world = World([OK])
    world.carry_out(pause=5.0, pause_factor=10.0)
    assert world.gaps == [20.0, 20.0]
    world = World([OK])
    world.carry_out(pause=30.0, pause_factor=10.0)
    assert world.gaps == [30.0, 30.0]


def test_lease_is_checked_before_and_after_a_pause() -> None:
    world = World([OK])
    ended = world.carry_out(pause=100.0, expires_at=1161.9)
    assert ([at for at, _ in world.asked], ended[-1].outcome) == ([1000.0], "unvisited")
    assert world.now == 1002.0, "a pause that leads nowhere is not begun"
    world = World([OK])
    world.carry_out(pause=100.0, expires_at=1162.0)
    assert [at for at, _ in world.asked] == [1000.0, 1102.0]


def test_abandoned_robots_txt_reports_its_request() -> None:
    hop = Reply(status=301, headers=(("Location", "/r"),), started_at=1000.0, took=2.0)
    world = World([hop], paused_from=1001.0)
    [ended] = world.carry_out(urls=[f"{HOST}/robots.txt"], purpose=Purpose.ROBOTS)
    assert (ended.outcome, ended.started_at, ended.took) == (Outcome.UNVISITED, 1000.0, 2.0)


def test_outcomes_repeat_the_fields_of_the_order() -> None:
    world = World([Reply(status=404, body=b"gone", started_at=1000.0, took=1.5)])
    ended = world.carry_out(urls=[f"{HOST}/a"], crawl="mine", epoch=9)
    assert [
        (one.crawl, one.site, one.host, one.order, one.epoch, one.received, one.took, one.at)
        for one in ended
    ] == [("mine", "example.org", HOST, "o", 9, 4, 1.5, 1001.5)]


def test_unreachable_robots_txt_disallows_everything() -> None:
    world = World([OK])
    ended = world.carry_out(robots=RobotsRules(forbidden="robots.txt answered 500"))
    assert world.asked == []
    assert {one.reason for one in ended} == {"robots.txt answered 500"}
