"""The trace of a URL is in the logs of all services."""

import json
from pathlib import Path

import pytest

from gossamer.log.codec import split_key
from gossamer.telemetry.logs import configure_logs
from gossamer.web.url import fingerprint
from tests.flow.test_flow import virtual_crawl


def test_trace_of_url_is_in_logs_and_events_of_all_services(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, other = "http://a.test/", "http://b.test/"
    configure_logs(as_json=True, level="debug")
    crawl = virtual_crawl(tmp_path, {url: [other], other: []}, 0.1)
    crawl.define(url)
    assert crawl.run()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    handled = {
        line["event_type"]
        for line in lines
        if fingerprint(other) in (line.get("trace"), *line.get("traces", ()))
    }
    events = {"urls_admitted", "host_checked_out", "visit_ended"}
    assert handled == events | {"page_fetched", "page_parsed", "page_deduplicated"}
    pages = {
        split_key(record.key)[1]: record.value.decode()
        for record in crawl.log.tail(["pages"]).poll(0)
    }
    assert f'"trace":"{fingerprint(url)}"' in pages[url]
    archived = crawl.log.tail(["pages.archived"]).poll(0)
    assert all(
        f'"trace":"{fingerprint(split_key(r.key)[1])}"' in r.value.decode() for r in archived
    )
