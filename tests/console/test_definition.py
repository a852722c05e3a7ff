"""The definition of a crawl: seeds in any form, and the scope over several runs."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.crawl import (
    CrawlRequest,
    decode_list,
    define,
    last_definition,
    read_seed_list,
    read_seeds,
)
from gossamer.errors import BadSettings
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.web.scope import parse_scope
from gossamer.web.url_steps import ALL_STEPS

A, B, C = "https://www.a.example/", "https://b.example/", "http://sub.c.example:8080/x"


def request(*seeds: str, scope: str = "", depth: int = 3, pages: int = 0) -> CrawlRequest:
    return CrawlRequest(seeds, scope, {"max_depth": depth}, pages)


def inside(scope: str, url: str) -> bool:
    return parse_scope(scope).evaluate(url, 0).inside is True


class TestSeeds:
    """One seed a line; invalid ones are reported."""

    def test_lines_become_canonical_urls_once_each_in_their_order(self) -> None:
        lines = ["# mine", "", "  HTTP://B.example ", "www.a.example", "http://b.example/#top"]
        assert read_seeds(lines) == ("http://b.example/", "https://www.a.example/")

    def test_invalid_lines_are_reported_with_their_numbers(self) -> None:
        with pytest.raises(BadSettings) as caught:
            read_seeds([A, "ftp://a.example/", "#", "http://", B])
        first, second = str(caught.value).splitlines()
        assert first.startswith("seed 2: 'ftp://a.example/'")
        assert second.startswith("seed 4: 'http://'")

    def test_invalid_lines_of_a_list_are_named_and_the_others_are_seeds(self) -> None:
        found = read_seed_list(
            f"\ufeff{A}\n# mine\nftp://a.example/\n\ufeff{B}\n\nhttp://\n".splitlines(), "f, line"
        )
        assert found.seeds == (A, B), "a byte order mark is no part of a URL"
        first, second = found.invalid
        assert first.startswith("f, line 3: 'ftp://a.example/'")
        assert second.startswith("f, line 6: 'http://'")

    def test_list_may_be_in_utf_16_and_keeps_octets_that_are_not_utf_8(self) -> None:
        """siteone-crawler#102: a list from Windows; the editor's "Unicode" is UTF-16."""
        for encoding in ("utf-16-le", "utf-16-be", "utf-8"):
            found = read_seed_list(
                decode_list(f"\ufeff{A}\r\n{A}é".encode(encoding)).splitlines(), "f"
            )
            assert found == ((A, f"{A}%C3%A9"), ())
        found = read_seed_list(decode_list(f"{A}\n{A}é".encode("latin-1")).splitlines(), "f")
        assert found == ((A, f"{A}%E9"), ())

    @pytest.mark.parametrize("text", ["localhost:8080", "a.example:8080/x"])
    def test_host_without_scheme_may_have_a_port(self, text: str) -> None:
        assert read_seeds([text])[0].startswith(f"https://{text}")

    @pytest.mark.parametrize("text", ["nonsense", "mailto:x@a.example", "x@a.example", "a.b:c"])
    def test_text_that_resembles_a_host_is_refused(self, text: str) -> None:
        with pytest.raises(BadSettings):
            read_seeds([text])

    def test_no_lines_give_no_seeds(self) -> None:
        assert read_seeds(["", " ", "# nothing"]) == ()

    @given(st.lists(st.text()))
    def test_any_text_gives_seeds_or_is_refused(self, lines: list[str]) -> None:
        try:
            seeds = read_seeds(lines)
        except BadSettings as error:
            assert "seed " in str(error)
        else:
            assert read_seeds(seeds) == seeds


class TestScope:
    """The scope grows with the seeds, unless it is set."""

    def test_default_scope_is_the_sites_of_the_seeds(self) -> None:
        scope = define(request(A, C), None, 0, 0).scope
        assert all(inside(scope, url) for url in (A, C, "http://other.a.example/"))
        assert not inside(scope, B)

    def test_scope_host_is_the_hosts_of_the_seeds(self) -> None:
        scope = define(request(A, C, scope="host"), None, 0, 0).scope
        assert inside(scope, A) and inside(scope, C)
        assert not inside(scope, "https://a.example/") and not inside(scope, "http://c.example/")

    def test_scope_stays_without_a_new_one(self) -> None:
        before = define(request(A, scope="host"), None, 0, 0)
        assert define(request(), before, 5, 1).scope == before.scope
        assert define(request(A), before, 5, 1).scope == before.scope

    def test_new_seed_adds_its_site_to_the_scope(self) -> None:
        before = define(request(A, scope="host"), None, 0, 0)
        scope = define(request(B), before, 5, 1).scope
        assert inside(scope, A) and inside(scope, B) and inside(scope, "http://w.b.example/")
        assert not inside(scope, "http://other.a.example/")

    def test_seed_out_of_an_expression_adds_its_site_to_the_whole(self) -> None:
        before = define(request(A, scope="any() and not host('b.example')"), None, 0, 0)
        scope = define(request(B), before, 0, 1).scope
        assert inside(scope, B) and inside(scope, C)

    @pytest.mark.parametrize(
        ("scope", "part"),
        [
            ("", "site"),
            ("site", "site"),
            ("host", "host"),
            ("any", ""),
            ("domain('a.example')", ""),
        ],
    )
    def test_expression_does_not_follow_from_the_seeds(self, scope: str, part: str) -> None:
        crawl = define(request(A, scope=scope), None, 0, 0)
        assert crawl.scope_of_seeds == part
        assert define(request(B if part else A), crawl, 0, 1).scope_of_seeds == part
        assert define(request(A, scope="host"), crawl, 0, 1).scope_of_seeds == "host"
        assert define(request(scope="any()"), crawl, 0, 1).scope_of_seeds == ""

    @pytest.mark.parametrize("scope", ["host", "site"])
    def test_scope_of_seeds_without_seeds_stays(self, scope: str) -> None:
        before = define(request(A), None, 0, 0)
        assert inside(define(request(scope=scope), before, 0, 1).scope, A)

    @given(st.lists(st.lists(st.sampled_from([A, B, C]), max_size=3), min_size=1, max_size=6))
    def test_every_seed_stays_in_scope_over_any_runs(self, runs: list[list[str]]) -> None:
        before, given = None, [A]
        for seeds in [[A], *runs]:
            before = define(request(*seeds), before, 0, 0)
            given += seeds
        assert before and all(inside(before.scope, seed) for seed in given)
        for _ in range(3):
            assert define(request(*given), before, 0, 0).scope == before.scope, "it does not grow"


def test_limits_hold_for_the_run_and_its_pages() -> None:
    before = define(request(A, depth=9, pages=4), None, 0, 0)
    crawl = define(request(depth=2, pages=7), before, 11, 99.0)
    assert (crawl.max_depth, crawl.max_pages, crawl.pages_before, crawl.at) == (2, 7, 11, 99.0)
    assert not crawl.paused


def test_last_definition_is_the_active_one(tmp_path: Path) -> None:
    database = Database(tmp_path / "gossamer.db")
    log = SqliteLog(database)
    assert last_definition(log) is None
    crawls = [define(request(A, depth=depth), None, 0, depth) for depth in (1, 2, 3)]
    for crawl in crawls:
        log.append([encode(crawl)])
    assert last_definition(log) == crawls[-1]
    database.close()


def test_new_scope_holds_for_all_seeds_of_the_command() -> None:
    before = define(request("https://a.example/"), None, 0, 1.0)
    again = define(
        request("https://a.example/", "https://b.example/", scope="site"), before, 0, 2.0
    )
    assert again.scope == "domain('a.example', 'b.example')"


class TestChoices:
    """Other fields of a definition, and which of them can be changed."""

    def test_new_crawl_has_all_url_steps_by_default(self) -> None:
        assert define(request(A), None, 0, 0.0).url_steps == ALL_STEPS
        asked = replace(request(A), settings={"url_steps": ("tracking",), "relevant": "any()"})
        crawl = define(asked, None, 0, 0.0)
        assert (crawl.url_steps, crawl.relevant) == (("tracking",), "any()")

    def test_url_steps_cannot_change_during_a_crawl(self) -> None:
        before = define(replace(request(A), settings={"url_steps": ("tracking",)}), None, 0, 0.0)
        assert define(request(A), before, 0, 1.0).url_steps == ("tracking",)
        other = replace(request(A), settings={"url_steps": ("session_id",)})
        with pytest.raises(BadSettings, match="started with tracking, which cannot change"):
            define(other, before, 0, 1.0)
