"""The worth of the parts of a site: what a visit to a URL is expected to bring."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.worth.worth import (
    LOW_WORTH,
    MAX_PARTS,
    OTHERS,
    SITE,
    SiteWorth,
    expect,
    forget,
    pack_worth,
    parts_of,
    record_growth,
    record_links,
    record_visit,
    unpack_worth,
)

HOST = "http://a.test"


def visit(worth: SiteWorth, url: str, new: float, copies: int = 0) -> None:
    """Count a visit to *url*, to which the page of the last visit links, that brought *new*
    texts."""
    record_growth(worth, [(url, copies)])
    record_visit(worth, url, copies, "main", worth.totals.visits, new)


def low_part(worth: SiteWorth, url: str, copies: int = 0) -> str | None:
    """Return the parked part of *url*; None if it is visited."""
    return expect(worth, url, copies).low_part


def site_with(trap: str, visits: int = 10) -> SiteWorth:
    """Return a site whose pages are new, with *visits* to URLs of a *trap* that bring nothing."""
    worth = SiteWorth()
    for n in range(20):
        visit(worth, f"{HOST}/page-{n}", 1.0)
        visit(worth, f"{HOST}/news/2024/{n}", 1.0)
    for n in range(visits):
        visit(worth, trap.format(n=n), 0.0)
    return worth


def test_links_of_one_page_are_not_low_whatever_they_bring() -> None:
    worth, urls = SiteWorth(), [f"{HOST}/law/{n}" for n in range(300)]
    record_visit(worth, f"{HOST}/", 0, "main", 0, 1.0)
    record_growth(worth, [(url, 0) for url in urls])
    for url in urls:
        assert low_part(worth, url) is None
        record_visit(worth, url, 0, "main", 1, 0.0)


def test_contracts_are_not_low_because_their_lists_were_visited_first() -> None:
    worth, contracts = SiteWorth(), [f"{HOST}/contract-{n}" for n in range(1000)]
    for n in range(40):
        visit(worth, f"{HOST}/list/{n}", 1.0)
        record_growth(worth, [(url, 0) for url in contracts[25 * n : 25 * n + 25]])
    for url in contracts:
        assert low_part(worth, url) is None
        record_visit(worth, url, 0, "main", 1, 0.2)


def test_parts_of_a_url_are_its_site_host_directories_and_parameters() -> None:
    assert parts_of(f"{HOST}/") == (SITE, HOST)
    assert parts_of(f"{HOST}/a/b/c.html") == (SITE, HOST, f"{HOST}/a/", f"{HOST}/a/b/")
    with_query = parts_of(f"{HOST}/a/list?sort=up&page=2&sort=down")
    assert with_query[2:] == (f"{HOST}/a/", f"{HOST}/a/list?", f"{HOST}/a/list?page&sort")
    assert len(parts_of(HOST + "/x" * 50)) == 8


def test_new_directories_are_judged_by_the_first_visits_to_their_neighbours() -> None:
    """A relative link that loops makes a copy of each page below each directory."""
    worth = SiteWorth()
    for section in range(5):
        for n in range(8):
            visit(worth, f"{HOST}/s{section}/page-{n}", 1.0)
    for section in range(5):
        for n in range(2):
            visit(worth, f"{HOST}/s{section}/s{n}/page-{n}", 0.0)
    assert low_part(worth, f"{HOST}/s0/s0/page-7"), "visited once"
    assert low_part(worth, f"{HOST}/s0/s4/page-7"), "never visited"
    assert low_part(worth, f"{HOST}/s0/page-99") is None
    assert low_part(worth, f"{HOST}/blog/2024/1") is None, "no child of the directory was visited"
    visit(worth, f"{HOST}/blog/2024/1", 1.0)
    assert low_part(worth, f"{HOST}/blog/2024/2") is None
    assert low_part(worth, f"{HOST}/blog/2025/1") is None


def test_directories_of_a_host_with_new_pages_are_not_low_for_worthless_hosts() -> None:
    """The index pages of a site bring nothing new, because a host with a copy was visited first."""
    worth, sections = SiteWorth(), ("news", "people", "places", "works")
    pages = [f"{HOST}/{section}/page-{n}" for section in sections for n in range(9)]
    visit(worth, f"{HOST}/", 1.0)
    for n in range(20):
        visit(worth, f"http://{n}.a.test/", 0.0)
    for n in range(8):
        record_growth(worth, [(page, 0) for page in pages])
        visit(worth, f"{HOST}/guide/page-{n}", 1.0)
    for section in sections:
        record_growth(worth, [(page, 0) for page in pages])
        visit(worth, f"{HOST}/{section}/", 0.0)
    assert [page for page in pages if low_part(worth, page)] == []
    assert low_part(worth, "http://unseen.a.test/") == OTHERS


def test_links_of_pages_without_new_texts_are_judged_by_three_visits() -> None:
    worth = SiteWorth()
    for n in range(10):
        visit(worth, f"{HOST}/page-{n}", 1.0)
    for n in range(3):
        assert low_part(worth, f"{HOST}/copy-{n}", copies=1) is None
        visit(worth, f"{HOST}/copy-{n}", 0.0, copies=1)
    assert low_part(worth, f"{HOST}/copy-3", copies=1)
    assert low_part(worth, f"{HOST}/page-99") is None


def test_directory_without_new_texts_is_low_and_its_neighbours_are_not() -> None:
    worth = site_with(f"{HOST}/cal/{{n}}")
    assert low_part(worth, f"{HOST}/cal/77") == f"{HOST}/cal/"
    assert low_part(worth, f"{HOST}/page-99") is None
    assert low_part(worth, f"{HOST}/news/2024/99") is None
    assert low_part(worth, f"{HOST}/other/1") is None


def test_a_few_visits_in_a_row_without_a_new_text_park_a_part() -> None:
    assert low_part(site_with(f"{HOST}/cal/{{n}}", visits=3), f"{HOST}/cal/77") is None
    assert low_part(site_with(f"{HOST}/cal/{{n}}", visits=8), f"{HOST}/cal/77") is not None


def test_directories_that_are_visited_once_are_low_together() -> None:
    worth = site_with(f"{HOST}/cal/{{n}}/month", visits=12)
    assert low_part(worth, f"{HOST}/cal/99/month") in (f"{HOST}/cal/", f"{HOST}/cal/{OTHERS}")
    assert low_part(worth, f"{HOST}/page-99") is None


def test_parameters_without_new_texts_are_low_and_other_parameters_are_not() -> None:
    worth = SiteWorth()
    for n in range(20):
        visit(worth, f"{HOST}/list?page={n}", 1.0)
        visit(worth, f"{HOST}/list?page={n}&sort=up", 0.0)
    assert low_part(worth, f"{HOST}/list?page=99") is None
    assert low_part(worth, f"{HOST}/list?sort=down&page=99") == f"{HOST}/list?page&sort"


def test_hosts_of_a_wildcard_zone_are_low_and_the_seeds_host_is_not() -> None:
    worth = site_with("http://{n}.a.test/")
    assert low_part(worth, "http://unseen.a.test/") == OTHERS
    assert low_part(worth, f"{HOST}/page-99") is None


def test_site_that_answers_every_url_with_one_page_keeps_its_honest_pages() -> None:
    worth = SiteWorth()
    for n in range(10):
        visit(worth, f"{HOST}/page-{n}", 1.0)
        visit(worth, f"{HOST}/error-{n}", 0.0, copies=1)
    assert low_part(worth, f"{HOST}/error-99", copies=2) is not None
    assert low_part(worth, f"{HOST}/page-99") is None


def test_part_that_is_forgotten_is_visited_again() -> None:
    worth = site_with(f"{HOST}/cal/{{n}}", visits=30)
    visit(worth, f"{HOST}/cal/new", 1.0)
    assert low_part(worth, f"{HOST}/cal/77") is not None, "one new text of thirty"
    forget(worth.of_new, f"{HOST}/cal/")
    assert low_part(worth, f"{HOST}/cal/77") is None


def test_index_pages_without_new_texts_are_worth_their_links() -> None:
    worth = SiteWorth()
    for n in range(30):
        visit(worth, f"{HOST}/archive/page/{n}", 0.0)
        articles = [(f"{HOST}/articles/{n}-{m}", 1) for m in range(5)]
        record_links(worth, f"{HOST}/archive/page/{n}", 0, articles)
        for url, copies in articles:
            visit(worth, url, 1.0, copies)
    assert low_part(worth, f"{HOST}/archive/page/99") is None


def test_calendar_pages_are_not_worth_their_links_to_each_other() -> None:
    worth = SiteWorth()
    for n in range(30):
        visit(worth, f"{HOST}/cal/{n}/month", 0.0)
        record_links(worth, f"{HOST}/cal/{n}/month", 0, [(f"{HOST}/cal/{n + 1}/month", 1)])
    assert low_part(worth, f"{HOST}/cal/99/month") is not None


urls = st.builds(
    "http://{}.a.test/{}".format,
    st.sampled_from("abc"),
    st.text("ab/?=&*", max_size=12).map(lambda text: text.lstrip("/")),
)
visits = st.lists(st.tuples(urls, st.integers(0, 2), st.floats(0, 1)), max_size=60)


@given(visits)
def test_worth_is_between_none_and_one_whatever_was_visited(
    visited: list[tuple[str, int, float]],
) -> None:
    worth = SiteWorth()
    for url, copies, new in visited:
        visit(worth, url, new, copies)
    for url, copies, _ in visited:
        found = expect(worth, url, copies)
        assert 0 <= found.worth <= 1
        assert found.low_part is None or found.worth < LOW_WORTH


@given(visits)
def test_stored_counters_give_the_same_estimates(visited: list[tuple[str, int, float]]) -> None:
    worth = SiteWorth()
    for url, copies, new in visited:
        visit(worth, url, new, copies)
    again = unpack_worth(pack_worth(worth))
    assert again == worth
    assert unpack_worth(b"") == SiteWorth()


def test_counters_of_a_site_are_bounded_whatever_its_urls() -> None:
    worth = SiteWorth()
    for n in range(5000):
        url = f"http://{n % 977}.a.test/{n % 7}/{n % 31}/{n}/x?{n % 13}=1&p{n}"
        visit(worth, url, n % 3 / 2, n % 2)
    assert max(len(worth.of_new), len(worth.of_copies), len(worth.depths)) <= MAX_PARTS + 10
    assert len(pack_worth(worth)) < 40_000
    assert SITE in worth.of_new
