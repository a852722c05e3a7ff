"""The answers of each trap: what makes it a trap."""

import re

from tests.traps import Sites, TrapWeb


def body(trap: str, host: str, target: str) -> str:
    return Sites(TrapWeb(traps=(trap,)), 80).to(host, target).body.decode()


def links(trap: str, target: str, part: str = "") -> list[str]:
    found: list[str] = re.findall('href="([^"]+)"', body(trap, f"{trap}.test", target))
    return [link.replace("&amp;", "&") for link in found if part in link]


def words_between(one: str, other: str) -> int:
    """Return the number of words of *one* that are missing from *other*."""
    return len(set(re.findall(r"\w+", one)) - set(re.findall(r"\w+", other)))


def text_of(trap: str, host: str, target: str) -> str:
    return body(trap, host, target).partition("<article>")[2].partition("</article>")[0]


def test_every_name_of_a_wildcard_shows_one_text() -> None:
    texts = {text_of("wildcard", f"{label}.wildcard.test", "/") for label in "abc"}
    assert texts == {text_of("wildcard", "wildcard.test", "/")}


def test_names_of_a_wildcard_with_words_differ_in_one_word() -> None:
    a, b = (
        text_of("wildcard-words", f"{label}.wildcard-words.test", "/") for label in ("Ulm", "Bari")
    )
    assert words_between(a, b) == words_between(b, a) == 1


def test_suffixes_have_no_address_and_all_names_under_them_have_one() -> None:
    for trap, suffix in (("wildcard-suffix", "github.io"), ("wildcard-country", "ws")):
        assert "Welcome" in body(trap, f"any.{suffix}", "/whatever")
        assert len(links(trap, "/", f".{suffix}:")) == 3


def test_mirror_differs_at_its_home_page_only() -> None:
    hosts = ("mirror.test", "mirror-of-mirror.test")
    assert len({text_of("mirror", host, "/") for host in hosts}) == 2
    assert len({text_of("mirror", host, "/about.html") for host in hosts}) == 1


def test_home_page_of_an_alias_differs_at_each_visit() -> None:
    sites = Sites(TrapWeb(traps=("www",)), 80)
    assert sites.to("www.test", "/").body != sites.to("www.test", "/").body
    assert sites.to("www.test", "/about.html") == sites.to("www.www.test", "/about.html")


def test_calendar_goes_on_in_both_directions_and_shows_few_events() -> None:
    assert "/calendar?year=1799&month=12" in links("calendar", "/calendar?year=1800&month=1")
    assert "/calendar?year=3001&month=1" in links("calendar", "/calendar?year=3000&month=12")
    assert len(links("calendar", "/calendar", "/events/")) == 3
    assert links("calendar", "/calendar?year=1800&month=1", "/events/") == []
    assert "/calendar/1800-01-02" in links("calendar", "/calendar/1800-01-01")


def test_facets_combine_in_any_order() -> None:
    found = links("facets", "/shop?size=s&color=red", "/shop?")
    assert {"/shop?size=s", "/shop?color=red", "/shop?size=s&color=red&brand=acme"} <= {*found}
    assert len(links("facets", "/shop", "/shop?")) == 24


def test_sort_orders_show_the_same_products() -> None:
    lists = [links("sort", f"/shop?sort={key}", "/products/") for key in ("name", "price")]
    assert lists[0] != lists[1]
    assert set(lists[0]) == set(lists[1]) == set(links("sort", "/shop", "/products/"))


def test_folders_contain_each_other_in_pairs_or_blocks_of_three() -> None:
    pairs = {"a/": ["b/", "old/"], "b/": ["a/", "old/"], "out/": ["in/", "a/"]}
    blocks = {"bridge/": ["harbour/"], "harbour/": ["letter/"], "letter/": ["bridge/"]}
    for trap, folders in {"growing": pairs, "blocks": blocks}.items():
        for folder, following in folders.items():
            found = links(trap, f"/tree/any/{folder}")
            assert [link for link in found if not link.startswith("/")] == following


def test_relative_links_show_the_page_under_any_folder() -> None:
    sites = Sites(TrapWeb(traps=("relative",)), 80)
    path = next(path for path in sites.sites[0].paths if path.count("/") == 2)
    assert sites.to("relative.test", f"/a/b{path}").body == sites.to("relative.test", path).body
    assert links("relative", path, path[1:])[0].startswith("/")
    assert [link for link in links("relative", path) if not link.startswith(("/", "http"))]


def test_session_ids_are_new_at_each_visit_and_do_not_change_the_text() -> None:
    for trap, start in (("session", "/?PHP"), ("session-unknown", "/?zk"), ("session-path", "/s-")):
        sites = Sites(TrapWeb(traps=(trap,)), 80)
        bodies = [sites.to(f"{trap}.test", "/").body.decode() for _ in range(2)]
        ids = [set(re.findall("[0-9a-f]{32}", it)) for it in bodies]
        assert [len(it) for it in ids] == [1, 1]
        assert ids[0] != ids[1]
        link = next(it for it in re.findall('href="([^"]+)"', bodies[0]) if it.startswith(start))
        assert text_of(trap, f"{trap}.test", link) == text_of(trap, f"{trap}.test", "/")


def test_missing_pages_of_soft_404s_are_found_and_link_to_others() -> None:
    for trap in ("soft404", "soft404-echo"):
        sites = Sites(TrapWeb(traps=(trap,)), 80)
        assert sites.to(f"{trap}.test", "/nothing").status == 200
        assert len(links(trap, "/nothing", "/archive/")) == 3
    assert text_of("soft404", "soft404.test", "/a") == text_of("soft404", "soft404.test", "/b")
    assert "/nothing" in text_of("soft404-echo", "soft404-echo.test", "/nothing")


def test_hosts_with_one_answer_give_it_for_every_path() -> None:
    for status, robots in ((200, 200), (404, 404), (500, 200)):
        trap = f"always-{status}"
        sites = Sites(TrapWeb(traps=(trap,)), 80)
        found = {sites.to(f"broken-{trap}.test", path).status for path in ("/", "/x", "/x/y?z")}
        assert found == {status}
        assert sites.to(f"broken-{trap}.test", "/robots.txt").status == robots
        assert sites.to(f"{trap}.test", "/").status == 200


def test_towns_differ_in_their_names() -> None:
    one, other = links("near", "/towns", "/town/")[:2]
    assert (
        words_between(text_of("near", "near.test", one), text_of("near", "near.test", other)) == 1
    )
    assert links("near", "/towns?page=19", "/towns?") == []


def test_mazes_link_only_deeper_and_one_of_them_drips() -> None:
    for trap, manner in (("tarpit", "drip"), ("babble", "whole")):
        answer = Sites(TrapWeb(traps=(trap,)), 80).to(f"{trap}.test", "/maze/any")
        assert (answer.status, answer.manner) == (200, manner)
        assert all(link.startswith("/maze/") for link in links(trap, "/maze/any"))


def test_pages_of_babble_share_no_word() -> None:
    one, other = (text_of("babble", "babble.test", f"/maze/{n}").partition("</h1>") for n in "ab")
    shared = set(re.findall(r"\w{6,}", one[2])) & set(re.findall(r"\w{6,}", other[2]))
    assert len(shared) < 5


def test_doorways_share_an_address_and_link_to_each_other() -> None:
    sites = Sites(TrapWeb(traps=("doorways",)), 80)
    farm = sites.sites[0].names()[1:]
    assert len(farm) == 60
    assert {sites.number(name) for name in farm} == {0}
    assert len(re.findall("http://cheap-", sites.to(farm[0], "/").body.decode())) == 8
