"""Walls that servers send in place of pages and of robots.txt, over real sockets."""

import pytest

from gossamer.events import Outcome, Purpose, RobotsAnswered
from gossamer.web.walls import WallKind
from tests.fetcher.orders import Emitted, order, run_order, visit_pages
from tests.fetcher.servers import Answer, page, serving
from tests.fetcher.test_robots_visit import events_of, forbids, visit_on_behalf, visit_robots

ANUBIS = b'<title>Wait</title><script id="anubis_challenge" type="application/json">{}</script>'
LICENSE = {"WWW_Authenticate": "License", "Link": '</l.xml>; rel="license"'}
APP = b'<html><head><script src="/app.js"></script></head><body><div id=root></div></body></html>'


async def visit(answer: Answer, purpose: Purpose = Purpose.PAGE) -> Emitted:
    async with serving(x=answer, y=page()) as server:
        return await run_order(given=order(f"{server.root}/x", purpose=purpose))


@pytest.mark.parametrize(
    ("answer", "outcome", "kind", "reason"),
    [
        (page(ANUBIS, 202), "challenged", "challenge", "challenged by Anubis"),
        (page(ANUBIS, 200), "challenged", "challenge", "challenged by Anubis"),
        (page(b"", 403, cf_mitigated="challenge"), "challenged", "challenge", "Cloudflare"),
        (page(b"", 429, cf_mitigated="challenge"), "challenged", "challenge", "Cloudflare"),
        (page(b"", 402, crawler_price="USD 0.01"), "payment_required", "payment", "USD 0.01"),
        (page(b"", 402), "payment_required", "payment", "no price stated"),
        (page(b"", 401, **LICENSE), "license_required", "license", "/l.xml"),
    ],
)
async def test_wall_has_its_outcome_and_evidence(
    answer: Answer, outcome: str, kind: str, reason: str
) -> None:
    emitted = await visit(answer)
    ended = emitted.one
    assert (ended.outcome, ended.hazards) == (outcome, (outcome,))
    assert ended.wall and ended.wall.kind == kind and reason in ended.reason
    (kept,) = emitted.pages
    assert kept.wall == ended.wall


async def test_retry_after_of_a_challenge_is_reported() -> None:
    emitted = await visit(page(b"", 429, cf_mitigated="challenge", Retry_After="90"))
    assert (emitted.one.outcome, emitted.one.retry_after) == (Outcome.CHALLENGED, 90.0)


async def test_challenge_ends_the_order_and_a_price_does_not() -> None:
    for answer, expected in [
        (page(ANUBIS, 202), ["challenged"]),
        (page(b"", 402), ["payment_required", "page"]),
    ]:
        _, emitted = await visit_pages(x=answer, y=page())
        assert emitted.outcomes == expected


async def test_refusal_that_asks_for_a_signature_is_archived_like_a_wall() -> None:
    emitted = await visit(page(b"", 403, Accept_Signature='sig1=("@authority")'))
    assert emitted.one.outcome is Outcome.SIGNATURE_ASKED
    assert [one.wall and one.wall.kind for one in emitted.pages] == [WallKind.SIGNATURE]


async def test_application_with_one_document_for_all_urls_is_a_page() -> None:
    _, emitted = await visit_pages(x=page(APP), y=page(APP))
    assert emitted.outcomes == ["page", "page"]
    assert [one.wall for one in emitted.pages] == [None, None]


async def test_same_empty_document_with_status_202_is_a_challenge_from_the_second_url() -> None:
    _, emitted = await visit_pages(x=page(APP, 202), y=page(APP, 202))
    assert emitted.outcomes == ["page", "challenged"]


@pytest.mark.parametrize("purpose", [Purpose.SITEMAP, Purpose.PROBE])
async def test_wall_in_place_of_sitemap_or_probe_is_challenged(purpose: Purpose) -> None:
    assert (await visit(page(ANUBIS, 202), purpose)).one.outcome is Outcome.CHALLENGED


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (page(ANUBIS, 202), Outcome.CHALLENGED),
        (page(ANUBIS, 200), Outcome.CHALLENGED),
        (page(ANUBIS, 200, Content_Type="text/plain"), Outcome.CHALLENGED),
        (page(b"<p>Wait", 403, cf_mitigated="challenge"), Outcome.CHALLENGED),
        (page(b"", 402, crawler_price="USD 1"), Outcome.PAYMENT_REQUIRED),
        (page(b"", 401, **LICENSE), Outcome.LICENSE_REQUIRED),
    ],
)
async def test_wall_in_place_of_robots_txt_disallows_everything(
    answer: Answer, outcome: Outcome
) -> None:
    ended = await visit_robots(answer)
    assert (ended.outcome, forbids(ended, "/open")) == (outcome, True)
    assert ended.wall and ended.robots and ended.robots.forbidden.startswith("robots.txt: ")


HOME = b"<html><body><h1>Our shop</h1><a href=/1>One</a><p>Welcome!</p></body></html>"


@pytest.mark.parametrize(
    ("answer", "is_forbidden"),
    [
        *((page(b"User-agent: *\nAllow: /", status), True) for status in (201, 202, 205)),
        *((page(HOME, status), False) for status in (200, 203)),
        (page(APP), False),
        (page(b"", 204), False),
    ],
    ids=["201", "202", "205", "home page", "home page, 203", "application", "204"],
)
async def test_success_without_a_file_gives_no_rules_or_disallows_everything(
    answer: Answer, is_forbidden: bool
) -> None:
    ended = await visit_robots(answer)
    assert (forbids(ended, "/open"), ended.wall) == (is_forbidden, None)
    assert ended.outcome is (Outcome.BROKEN if is_forbidden else Outcome.PAGE)


async def test_wall_in_place_of_another_hosts_robots_txt_is_answered_as_unreachable() -> None:
    _, emitted = await visit_on_behalf(page(b"", 402))
    (answer,) = events_of(emitted, RobotsAnswered)
    assert answer.outcome is Outcome.PAYMENT_REQUIRED
    assert answer.robots and answer.robots.forbidden
    assert emitted.one.wall and emitted.one.wall.kind is WallKind.PAYMENT
