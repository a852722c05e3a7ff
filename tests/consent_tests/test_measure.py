"""The evaluation of requests and verdicts."""

from itertools import count

from tests.consent import Conduct, ConsentWeb, Hosts, conduct_of, wrong_verdicts
from tests.consent.truth import CATEGORIES
from tests.consent.walls import LICENSE_PATH
from tests.consent.web import TDMREP_PATH, Combination
from tests.synthweb.record import Request

HOSTS = Hosts(ConsentWeb(), 80)
TIMES = count(1)


def request(host: str, path: str, note: str = "", status: int = 200) -> Request:
    at = float(next(TIMES))
    return Request(at, at, host, path, HOSTS.url(host, path), status, "g/1", "", 1, "", note)


def conduct(*requests: Request) -> Conduct:
    return conduct_of(requests, HOSTS)


def host_of(combination: Combination) -> str:
    return next(name for name, one in HOSTS.combinations.items() if one == combination)


def test_requests_after_a_final_refusal_are_counted() -> None:
    found = conduct(*(request("license.test", "/", status=401) for _ in range(3)))
    assert found.pursued == {"http://license.test:80/": 3}
    assert conduct(*(request("cloudflare.test", "/") for _ in range(3))).pursued == {}
    found = conduct(*(request("signature-403.test", TDMREP_PATH) for _ in range(3)))
    assert found.pursued == {f"http://signature-403.test:80{TDMREP_PATH}": 3}


def test_repeated_requests_without_a_wall_are_counted_except_for_robots_txt() -> None:
    paths = ("/robots.txt", "/robots.txt", "/", "/")
    for host in ("use000.test", "payment-robots.test"):
        found = conduct(*(request(host, path) for path in paths))
        assert (found.pursued, found.repeated) == ({}, {f"http://{host}:80/": 2})


def test_pages_without_rules_are_listed_but_robots_txt_and_probes_are_not() -> None:
    paths = ("/robots.txt", "/" + "a" * 32, "/first.html")
    found = conduct(*(request("script-robots.test", path) for path in paths))
    assert found.unruled == ["http://script-robots.test:80/first.html"]
    assert found.robots == {"script-robots.test": 1}


def test_usage_files_must_be_requested_before_pages() -> None:
    host = host_of(Combination(tdmrep="reserved"))
    file = HOSTS.url(host, TDMREP_PATH)
    assert conduct(request(host, "/")).missing_files == [file]
    assert conduct(request(host, "/"), request(host, TDMREP_PATH)).late_files == [file]
    found = conduct(request(host, TDMREP_PATH), request(host, "/"))
    assert (found.late_files, found.missing_files, found.files) == ([], [], {file: 1})
    host = host_of(Combination(license="priced"))
    assert conduct(request(host, "/")).missing_files == [HOSTS.url(host, LICENSE_PATH)]


def test_signatures_are_counted_by_host_and_by_validity() -> None:
    found = conduct(
        request("signature-403.test", "/", status=403),
        request("signature-403.test", "/", "signed"),
        request("signature-403.test", "/first.html", "bad signature: expired", 403),
        request("payment.test", "/", "signed", 402),
    )
    assert found.signed == {"signature-403.test": 1, "payment.test": 1}
    assert found.admitted == {"http://signature-403.test:80/"}
    assert found.signed_unasked == ["http://payment.test:80/"]
    assert len(found.badly_signed) == 1


def test_wrong_verdicts_are_named_and_missing_ones_are_unknown() -> None:
    truth = {"u": dict.fromkeys(CATEGORIES, "unknown") | {"search": "allowed"}}
    usage = {"train-ai": {"allowed": True}, "search": {"allowed": True}, "archive": {}}
    found = wrong_verdicts([{"url": "u", "usage": usage}, {"url": "other"}], truth)
    assert found == {"u": "train-ai: allowed, not unknown"}
