"""Questions about a crawl, changes of it, and tables of its pages."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gossamer

from .conftest import Site


@pytest.mark.slow
def test_answers_versions_and_changes_of_a_page(site: Site, tmp_path: Path) -> None:
    crawl = site.crawl(tmp_path / "data", depth=1, settings={"parser.markdown": True})
    assert crawl.wait().outcomes["page"] == 3
    explanation = crawl.why(site.url)
    assert (explanation.url, explanation.state) == (f"{site.url}/", "fetched")
    assert str(explanation).startswith("Fetched ")
    (visit,) = crawl.history(site.url)
    assert (visit.outcome, visit.status, visit.finding) == ("page", 200, "first")
    assert crawl.history(f"{site.url}/p9") == []
    with pytest.raises(gossamer.CrawlError, match="nothing to compare"):
        crawl.diff(site.url)
    with pytest.raises(ValueError, match="not a URL"):
        crawl.why("http://[")

    site.text = site.text.replace("brass", "copper")
    crawl.add(f"{site.url}/p3")
    again = site.crawl(
        tmp_path / "data", revisit="fixed:1s", settings={"parser": {"markdown": True}}
    )
    page = next(page for page in again.run() if page.change and page.url == f"{site.url}/")
    assert "copper" in page.html() and page.markdown and "copper" in page.markdown
    diff = crawl.diff(site.url)
    assert {piece.text.strip() for piece in diff.pieces if piece.kind != "equal"} == {
        "brass",
        "copper",
    }
    assert diff.old_at < diff.new_at and 0 < diff.change < 1
    assert diff.data["form"] == "text"
    assert crawl.diff(site.url, since=visit.at, until=datetime.now(UTC), form="html").change > 0
    assert f"{site.url}/p3" in {page.url for page in crawl.pages()}

    versions = [one for one in crawl.pages().versions() if one.url == f"{site.url}/"]
    assert [one.fetched_at for one in versions] == sorted(one.fetched_at for one in versions)
    assert "brass" in versions[0].html() and "copper" in versions[-1].html()
    assert versions[0].fetched_at == visit.at
    assert versions[0].digest != versions[-1].digest


@pytest.mark.slow
def test_page_that_is_not_archived_has_no_body(site: Site, tmp_path: Path) -> None:
    site.text = f"<meta name=robots content=noarchive>{site.text}"
    for page in site.crawl(tmp_path / "data", depth=0).run():
        assert page.title == "Page 0"
        with pytest.raises(gossamer.CrawlError, match="was not archived"):
            page.html()


@pytest.mark.long
def test_paused_crawl_goes_on_after_resume(site: Site, tmp_path: Path) -> None:
    crawl = site.crawl(tmp_path / "data", delay=0.3)
    pages = crawl.run()
    next(pages)
    crawl.pause()
    assert {page.url for page in pages} < site.urls, "the run has ended"
    assert crawl.status().idle
    with pytest.raises(gossamer.CrawlError, match="crawls resume"):
        gossamer.Crawl(tmp_path / "data", contact="test@example.org", quiet=True).wait()
    crawl.resume()
    assert crawl.wait().pages == len(site.urls)


@pytest.mark.slow
def test_tables_have_a_row_for_each_page(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = site.crawl(tmp_path / "data", depth=1)
    crawl.wait()
    frame = crawl.pages().to_pandas()
    assert [*frame.columns[:3]] == ["url", "title", "text"]
    assert {*frame.url} == {f"{site.url}/", f"{site.url}/p1", f"{site.url}/p2"}
    assert str(frame.fetched_at.dtype).endswith("UTC]")
    assert frame.published_at.isna().all(), "an unknown time is null"
    assert frame.set_index("url").links[f"{site.url}/"] == (f"{site.url}/p1", f"{site.url}/p2")
    table = crawl.pages().to_arrow()
    assert {*table.column("url").to_pylist()} == {*frame.url}
    assert {*frame.columns} == {*table.column_names}
    empty = gossamer.Crawl(tmp_path / "none", quiet=True)
    with pytest.raises(gossamer.CrawlError, match="has no crawl"):
        empty.pages().to_pandas()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(gossamer.CrawlError, match="pip install pandas"):
        crawl.pages().to_pandas()
