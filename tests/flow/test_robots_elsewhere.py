"""Robots.txt files that redirect to other hosts, in whole crawls: each is requested there,
politely."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.web.robots import REDIRECTS
from gossamer.web.url import host_key
from tests.flow.virtual import VirtualCrawl, html_page

HTML = (("Content-Type", "text/html"),)
HOSTS = [f"http://{name}.test" for name in ("a", "b", "www.b", "c", "d", "e", "f", "g")]
ROBOTS = b"User-agent: *\nDisallow: /secret\n"
DELAY, TOOK = 1.0, 0.4

Leads = dict[str, str]
"""Host → the target of its robots.txt redirect. A host that is missing serves its own file."""


def redirects_to_rules(leads: Leads, host: str) -> int:
    """Return the number of redirects to the file; `REDIRECTS` + 1 without a file."""
    url, hops = f"{host}/robots.txt", 0
    while hops <= REDIRECTS and url.endswith("/robots.txt") and host_key(url) in leads:
        url, hops = leads[host_key(url)], hops + 1
    return hops


def is_in_circle(leads: Leads, host: str) -> bool:
    """Return whether the redirects from *host* lead into a circle."""
    met = set[str]()
    while host in leads and host not in met:
        met.add(host)
        host = host_key(leads[host])
    return host in met


def run_crawl(folder: str, leads: Leads, crashes: list[int]) -> VirtualCrawl:
    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        host = host_key(url)
        reply = html_page(f"<p>this is {url}")
        if url.endswith("/robots.txt") and host in leads:
            reply = Reply(status=301, headers=(("Location", leads[host]),))
        elif url.endswith(("/robots.txt", "/rules")):
            reply = Reply(status=200, body=ROBOTS)
        return TOOK, reply

    crawl = VirtualCrawl(Path(folder), web, delay=DELAY, batch=3)
    crawl.define(*(f"{host}{path}" for host in HOSTS[:5] for path in ("/", "/secret")))
    for steps in crashes:
        crawl.run(steps)
        crawl.crash()
    assert crawl.run()
    crawl.archive.close()
    return crawl


targets = st.sampled_from([f"{host}{path}" for host in HOSTS for path in ("/robots.txt", "/rules")])
webs = st.dictionaries(st.sampled_from(HOSTS), targets, max_size=len(HOSTS))
all_to_g = {host: f"{HOSTS[-1]}/robots.txt" for host in HOSTS[:-1]}
two_in_a_circle = {HOSTS[0]: f"{HOSTS[1]}/robots.txt", HOSTS[1]: f"{HOSTS[0]}/robots.txt"}
all_in_a_circle = {a: f"{b}/robots.txt" for a, b in zip(HOSTS, [*HOSTS[1:], HOSTS[0]], strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("leads", [all_to_g, two_in_a_circle, all_in_a_circle])
def test_redirected_rules_are_followed_and_requested_politely(leads: Leads) -> None:
    assert_rules_followed(leads, [])


@pytest.mark.slow
@pytest.mark.parametrize("examples", [2, pytest.param(60, marks=pytest.mark.long)])
def test_redirected_rules_are_followed_for_random_redirects_through_crashes(examples: int) -> None:
    # Rules in a circle are waited for a month, which takes seconds to simulate.
    @settings(max_examples=examples, phases=(Phase.generate,))
    @given(webs, st.lists(st.integers(1, 60), max_size=3))
    def check(leads: Leads, crashes: list[int]) -> None:
        assert_rules_followed(leads, crashes)

    check()


def assert_rules_followed(leads: Leads, crashes: list[int]) -> None:
    """Assert that the rules were followed, and requested no more often than necessary."""
    with TemporaryDirectory() as folder:
        crawl = run_crawl(folder, leads, crashes)
    assert min(crawl.gaps(), default=DELAY) >= DELAY - 1e-6
    requested = [url for _, _, url in crawl.requests]
    for host in HOSTS[:5]:
        assert 1 <= requested.count(f"{host}/") <= 1 + len(crashes), (
            f"{host} still waits for its rules"
        )
        # A circle that never leaves robots.txt counts as unreachable: after 30 days all is allowed.
        if redirects_to_rules(leads, host) <= REDIRECTS and not is_in_circle(leads, host):
            assert f"{host}/secret" not in requested
    # One for each host, and for each of the five seeded hosts at most `REDIRECTS` more.
    robots = [url for url in requested if url.endswith(("/robots.txt", "/rules"))]
    circles = any(is_in_circle(leads, host) for host in HOSTS)
    assert circles or len(robots) <= (len(HOSTS) + 5 * REDIRECTS) * (1 + len(crashes))


def test_rules_shared_by_hosts_are_requested_rarely() -> None:
    with TemporaryDirectory() as folder:
        crawl = run_crawl(folder, all_to_g, [])
    requested = [url for _, _, url in crawl.requests]
    assert requested.count(f"{HOSTS[-1]}/robots.txt") <= 1 + 5
    took = max(end for _, end, _ in crawl.requests) - min(start for start, _, _ in crawl.requests)
    assert took < 60, "no host waits for longer than a few visits"


def test_endless_robots_txt_redirect_ends_despite_a_long_delay(
    tmp_path: Path,
) -> None:
    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url.endswith("/robots.txt"):
            again = (("Location", "/robots.txt"),)
            return 0.1, Reply(status=301, headers=again)
        return 0.1, Reply(status=200, headers=HTML, body=b"a page")

    crawl = VirtualCrawl(tmp_path, web, delay=200.0, lease_slack=300.0)
    crawl.define("http://a.example/")
    assert crawl.run(20_000)
    assert [url for _, _, url in crawl.requests].count("http://a.example/robots.txt") == 6
    assert crawl.requests[-1][2] == "http://a.example/"
