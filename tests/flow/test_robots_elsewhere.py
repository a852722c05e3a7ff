"""Robots.txt files that lie at other hosts, in whole crawls: asked for there, and politely."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gossamer.web.robots import REDIRECTS
from gossamer.web.url import host_key, host_name
from services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

HTML = (("Content-Type", "text/html"),)
HOSTS = [f"http://{name}.test" for name in ("a", "b", "www.b", "c", "d", "e", "f", "g")]
ROBOTS = b"User-agent: *\nDisallow: /secret\n"
DELAY, TOOK = 1.0, 0.4

Leads = dict[str, str]
"""Host → where its robots.txt redirects to; one that is missing has a file of its own."""


def lies(leads: Leads, host: str) -> int:
    """Return how many redirects lead to the file; more than are followed if there is none."""
    url, hops = f"{host}/robots.txt", 0
    while hops <= REDIRECTS and url.endswith("/robots.txt") and host_key(url) in leads:
        url, hops = leads[host_key(url)], hops + 1
    return hops


def in_a_circle(leads: Leads, host: str) -> bool:
    """Whether hosts wait for each other, *host* among them or behind them."""
    met = set[str]()
    while host in leads and host not in met:
        met.add(host)
        host = host_key(leads[host])
    return host in met


def crawled(folder: str, leads: Leads, crashes: list[int]) -> VirtualCrawl:
    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        host = host_key(url)
        reply = Reply(status=200, headers=HTML, body=f"<p>this is {url}".encode())
        if url.endswith("/robots.txt") and host in leads:
            reply = Reply(status=301, headers=(("Location", leads[host]),))
        elif url.endswith(("/robots.txt", "/rules")):
            reply = Reply(status=200, body=ROBOTS)
        return TOOK, Reply(
            status=reply.status, headers=reply.headers, body=reply.body, started_at=now, took=TOOK
        )

    crawl = VirtualCrawl(Path(folder), web, delay=DELAY, batch=3)
    crawl.sow(*(f"{host}{path}" for host in HOSTS[:5] for path in ("/", "/secret")))
    for steps in crashes:
        crawl.run(steps)
        crawl.crash()
    assert crawl.run()
    crawl.archive.close()
    return crawl


def assert_polite(crawl: VirtualCrawl) -> None:
    visits = defaultdict(list)
    for start, end, url in sorted(crawl.requests):
        visits[host_name(url)].append((start, end))
    for host, times in visits.items():
        for (_, before), (after, _) in pairwise(times):
            assert after - before >= DELAY - 1e-6, f"{host} was asked {after - before} s later"


targets = st.sampled_from([f"{host}{path}" for host in HOSTS for path in ("/robots.txt", "/rules")])
webs = st.dictionaries(st.sampled_from(HOSTS), targets, max_size=len(HOSTS))
everybody_to_g = {host: f"{HOSTS[-1]}/robots.txt" for host in HOSTS[:-1]}
two_at_each_other = {HOSTS[0]: f"{HOSTS[1]}/robots.txt", HOSTS[1]: f"{HOSTS[0]}/robots.txt"}
around = {a: f"{b}/robots.txt" for a, b in zip(HOSTS, [*HOSTS[1:], HOSTS[0]], strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("leads", [everybody_to_g, two_at_each_other, around])
def test_rules_come_from_where_they_lie_and_every_host_is_asked_politely(leads: Leads) -> None:
    assert_kept(leads, [])


@pytest.mark.slow
@pytest.mark.parametrize("examples", [4, pytest.param(60, marks=pytest.mark.long)])
def test_so_they_do_wherever_they_lie_and_whatever_dies(examples: int) -> None:
    # Rules that lie in a circle are waited for a month, which takes seconds.
    @settings(max_examples=examples, phases=(Phase.generate,))
    @given(webs, st.lists(st.integers(1, 60), max_size=3))
    def are_kept(leads: Leads, crashes: list[int]) -> None:
        assert_kept(leads, crashes)

    are_kept()


def assert_kept(leads: Leads, crashes: list[int]) -> None:
    """The rules were followed, and asked for as often as they had to be."""
    with TemporaryDirectory() as folder:
        crawl = crawled(folder, leads, crashes)
    assert_polite(crawl)
    asked = [url for _, _, url in crawl.requests]
    for host in HOSTS[:5]:
        assert 1 <= asked.count(f"{host}/") <= 1 + len(crashes), f"{host} waits for its rules"
        # A circle that no redirect ends is taken for unreachable: after 30 days all is allowed.
        if lies(leads, host) <= REDIRECTS and not in_a_circle(leads, host):
            assert f"{host}/secret" not in asked
    # Each host's own, and for each of the five that are seeded as many as are followed.
    robots = [url for url in asked if url.endswith(("/robots.txt", "/rules"))]
    circles = any(in_a_circle(leads, host) for host in HOSTS)
    assert circles or len(robots) <= (len(HOSTS) + 5 * REDIRECTS) * (1 + len(crashes))


def test_what_is_known_is_not_asked_for_again() -> None:
    with TemporaryDirectory() as folder:
        crawl = crawled(folder, everybody_to_g, [])
    asked = [url for _, _, url in crawl.requests]
    assert asked.count(f"{HOSTS[-1]}/robots.txt") <= 1 + 5
    took = max(end for _, end, _ in crawl.requests) - min(start for start, _, _ in crawl.requests)
    assert took < 60, "nobody waited for longer than a few visits take"


def test_a_robots_txt_that_redirects_for_ever_ends_also_where_the_delay_is_long(
    tmp_path: Path,
) -> None:
    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url.endswith("/robots.txt"):
            again = (("Location", "/robots.txt"),)
            return 0.1, Reply(status=301, headers=again, started_at=now, took=0.1)
        return 0.1, Reply(status=200, headers=HTML, body=b"a page", started_at=now, took=0.1)

    crawl = VirtualCrawl(tmp_path, web, delay=200.0, lease_slack=300.0)
    crawl.sow("http://a.example/")
    assert crawl.run(20_000)
    assert [url for _, _, url in crawl.requests].count("http://a.example/robots.txt") == 6
    assert crawl.requests[-1][2] == "http://a.example/"
