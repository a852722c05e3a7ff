"""The measures, on hand-made records."""

from pathlib import Path

import pytest

from tests.synthweb import Truth, measure
from tests.synthweb.record import Journal, Request, read_requests, to_line


def request(at: float, ended: float, host: str = "a.test", path: str = "/") -> Request:
    return Request(at, ended, host, path, f"http://{host}:1{path}", 200, "g/1", "me@a.test", 1)


def test_consecutive_requests_do_not_overlap() -> None:
    assert not measure.overlaps([request(1, 2), request(2, 3), request(2.5, 4, "b.test")])


def test_overlaps_with_a_long_request_are_found() -> None:
    long, inner, last = request(1, 9), request(2, 3), request(4, 5)
    assert measure.overlaps([last, inner, long]) == [(long, inner), (long, last)]


def test_soonest_has_both_gaps_of_each_host() -> None:
    requests = [request(1, 2), request(3, 3.5), request(5, 6), request(1, 2, "b.test")]
    assert measure.shortest_gaps(requests) == {"a.test": measure.Gaps(2, 1)}


def test_soonest_is_negative_for_overlapping_requests() -> None:
    gaps = measure.shortest_gaps([request(1, 9), request(2, 3), request(4, 5)])["a.test"]
    assert gaps == measure.Gaps(1, -7)


def test_twice_counts_urls_without_robots_txt() -> None:
    requests = [request(n, n, path=path) for n in (1, 2, 3) for path in ("/x", "/robots.txt")]
    assert measure.repeated_requests([*requests, request(9, 9)]) == {"http://a.test:1/x": 3}


def test_asked_forbidden_and_uncalled_for_urls() -> None:
    requests = [request(1, 1), request(2, 2, path="/private/a"), request(3, 3, path="/lure/x")]
    urls = [one.url for one in requests]
    truth = Truth(pages={urls[0]}, forbidden={urls[1]})
    assert measure.requested_urls(requests) == set(urls)
    assert measure.forbidden_requests(requests, truth) == {urls[1]}
    assert measure.unlinked_requests(requests, truth) == set(urls[1:])


@pytest.mark.parametrize("tail", ["", '{"at": 1.0, "en'])
def test_unfinished_last_line_of_a_record_is_ignored(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "requests.jsonl"
    journal = Journal(path)
    journal.write(to_line(request(2, 3)))
    journal.write(to_line(request(1, 2)))
    journal.close()
    with path.open("a") as stream:
        stream.write(tail)
    assert read_requests(path) == [request(1, 2), request(2, 3)]
