"""Both engines of dedup behave equally, with tables on a real disk and logs on a real Kafka."""

import uuid
from base64 import b64decode
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Literal

import pytest

from gossamer.errors import Locked
from gossamer.events import DEFAULT_CRAWL
from gossamer.log import partition_of
from gossamer.log.kafka.topics import Topics
from gossamer.services.dedup.listings import ListingRow
from gossamer.services.dedup.rows import DocumentRow
from tests.support.metrics import growth
from tests.support.waiting import until

from .instance import PARTITIONS, Brokers, Instance, Topic, event, parsed_page, urls_discovered

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]

SITE = "example.org"


Engine = Literal["own", "faust"]


@pytest.fixture(scope="module", params=["own", "faust"])
def engine(request: pytest.FixtureRequest) -> Engine:
    name: Engine = request.param
    return name


@pytest.fixture(scope="module")
def brokers(kafka: str, engine: Engine) -> Brokers:
    return Brokers(kafka, f"dedup-{uuid.uuid4().hex[:8]}.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Path:
    return tmp_path_factory.mktemp("dedup")


@pytest.fixture(scope="module")
def instance(brokers: Brokers, folder: Path, engine: Engine) -> Iterator[Instance]:
    started = Instance(brokers, folder, engine=engine).start().await_ready()
    yield started
    started.stop()
    assert not started.failure


def test_seed_is_admitted_in_the_partition_of_its_site(
    brokers: Brokers, instance: Instance
) -> None:
    timings = [
        growth("gossamer_step_seconds_count", service="dedup"),
        growth("gossamer_log_append_seconds_count"),
    ]
    with brokers.topic("urls.admitted") as admitted:
        brokers.put("seeds", b"http://seed.example.org/")
        until(
            lambda: any("http://seed.example.org/" in str(e) for e in admitted.read()), "the seed"
        )
        (at,) = [p for p, _, v in admitted.records if v and b"http://seed.example.org/" in v]
        assert at == partition_of(SITE, PARTITIONS)
    # The seed, and the discovered URL that it became.
    until(lambda: all(timed() >= 2 for timed in timings), "both timings")


def test_url_is_admitted_for_its_first_finder(brokers: Brokers, instance: Instance) -> None:
    a, b = "http://first.example.org/a", "http://first.example.org/b"
    with brokers.topic("urls.admitted") as admitted:
        brokers.put("urls.discovered", urls_discovered(SITE, "one", a), SITE)
        brokers.put("urls.discovered", urls_discovered(SITE, "two", a, b), SITE)
        brokers.put("urls.discovered", urls_discovered(SITE, "two", b), SITE)
        until(lambda: sum("first." in str(e) for e in admitted.read()) == 3, "three URLs")
        events = [e for e in admitted.read() if "first." in str(e)]
    # The third record looks like a redelivery of the second, so its URL is admitted again.
    assert [(e["via"], [u["url"] for u in e["urls"]]) for e in events] == [
        ("one", [a]),
        ("two", [b]),
        ("two", [b]),
    ]


def test_first_page_with_a_text_leads_it(brokers: Brokers, instance: Instance) -> None:
    one, two = "http://text.example.org/1", "http://text.example.org/2"
    links = [{"url": "http://far.example.net/"}]
    with brokers.topic("pages.deduplicated") as result, brokers.topic("pages") as pages:
        brokers.put("pages.parsed", parsed_page(one, SITE, digest="text", links=links), SITE)
        brokers.put("pages.parsed", parsed_page(two, SITE, digest="text", links=links), SITE)
        until(lambda: sum("text." in str(e) for e in result.read()) == 2, "two verdicts")
        first, second = (e for e in result.read() if "text." in str(e))
        assert (first["verdict"], first["links"]) == ("first", 1)
        assert (second["verdict"], second["duplicate_of"]) == ("duplicate", one)
        until(lambda: sum("text." in str(e) for e in pages.read()) == 2, "two documents")
        assert {key for _, key, value in pages.records if value and b"text." in value} == {
            f"default/{one}".encode(),
            f"default/{two}".encode(),
        }


def test_waiting_pages_share_a_flush(brokers: Brokers, instance: Instance) -> None:
    count, flushes = 200, growth("gossamer_store_flush_seconds_count")
    with brokers.topic("pages") as pages:
        for n in range(count):
            brokers.queue("pages.parsed", parsed_page(f"http://many.example.org/{n}", SITE), SITE)
        brokers.flush()
        until(lambda: sum("/many." in str(e) for e in pages.read()) == count, "all documents")
    assert flushes() < count / 2


def test_namer_of_a_sitemap_is_stored_before_the_commit(
    brokers: Brokers, instance: Instance
) -> None:
    url = "http://named.example.org/map.xml"
    found = [{"url": url, "purpose": "sitemap"}]
    names = event(
        event="urls_discovered", site=SITE, via="1.1.0@http://far.test/robots.txt", urls=found
    )
    with brokers.topic("urls.admitted") as admitted:
        brokers.put("urls.discovered", names, SITE)
        until(lambda: any(url in str(e) for e in admitted.read()), "it is admitted")
    row = instance.other_store().table(ListingRow).get((DEFAULT_CRAWL, url))
    assert row and row.named_by == ("far.test",)


def test_deleted_page_leaves_a_tombstone_with_its_reason(
    brokers: Brokers, instance: Instance
) -> None:
    url = "http://gone.example.org/"
    with brokers.topic("pages") as pages:
        brokers.put("pages.parsed", parsed_page(url, SITE), SITE)
        brokers.put("pages.parsed", parsed_page(url, SITE, status=410, fetched_at=2.0), SITE)

        def values() -> list[bytes | None]:
            pages.read()
            return [value for _, key, value in pages.records if key == f"default/{url}".encode()]

        # On a slow machine both records may be processed twice.
        until(lambda: len(values()) >= 2 and values()[-1] is None, "a document and a tombstone")
        assert values()[0]
        headers = pages.headers[f"default/{url}".encode()]
    assert headers == {
        "event": b"tombstone",
        "crawl": b"default",
        "verdict": b"gone",
        "reason": b"removed",
        "at": b"2.0",
        "status": b"410",
        "trace": b"",
    }


def test_erased_url_is_admitted_again(brokers: Brokers, instance: Instance) -> None:
    url = "http://erased.example.org/"
    erasure = {
        "target": url,
        "requested_at": 2.0,
        "requested_by": "me",
        "key_group": 0,
        "orders": 5,
    }
    begun = event(event="erasure_begun", site=SITE, erasure=erasure, urls=[url])
    with brokers.topic("urls.admitted") as admitted, brokers.topic("pages") as pages:

        def admissions() -> int:
            found = [e for e in admitted.read() if e["event"] == "urls_admitted"]
            return sum(url in str(e) for e in found)

        brokers.put("urls.discovered", urls_discovered(SITE, "one", url), SITE)
        until(lambda: admissions() == 1, "an admission")
        brokers.put("pages.parsed", parsed_page(url, SITE), SITE)
        until(lambda: any(e.get("url") == url for e in pages.read()), "its document")
        brokers.put("urls.discovered", begun, SITE)
        until(lambda: any(e["event"] == "urls_erased" for e in admitted.read()), "the answer")
        brokers.put("urls.discovered", urls_discovered(SITE, "two", url), SITE)
        until(lambda: admissions() == 2, "a second admission")
        pages.read()
        assert pages.headers[f"default/{url}".encode()]["reason"] == b"erased"
    assert instance.other_store().table(DocumentRow).get((DEFAULT_CRAWL, url)) is None


def test_invalid_records_become_complete_dead_letters(brokers: Brokers, instance: Instance) -> None:
    with brokers.topic("dead.letters") as letters:
        brokers.put("urls.discovered", b"\xff\x00 no event", SITE)
        brokers.put("pages.parsed", b"{}", SITE)
        brokers.put("seeds", None, key="nothing")
        brokers.put("seeds", b"mailto:nobody@example.org")
        found = letters.at_least(4)
    assert sorted(letter["topic"] for letter in found) == [
        "pages.parsed",
        "seeds",
        "seeds",
        "urls.discovered",
    ]
    assert {letter["service"] for letter in found} == {"dedup"}
    (undecodable,) = [one for one in found if one["topic"] == "urls.discovered"]
    assert undecodable["value"] == "/wAgbm8gZXZlbnQ="


def test_record_of_maximum_size_passes(brokers: Brokers, instance: Instance) -> None:
    url, text = "http://large.example.org/", "x" * 900_000
    with brokers.topic("pages") as pages:
        brokers.put("pages.parsed", parsed_page(url, SITE, text=text), SITE)
        until(lambda: any(e.get("url") == url for e in pages.read()), "the document")
        (document,) = [e for e in pages.read() if e.get("url") == url]
    assert document["text"] == text


def test_new_definition_is_active_within_seconds(brokers: Brokers, instance: Instance) -> None:
    def define(scope: str) -> None:
        brokers.put(
            "control", event(event="crawl_defined", scope=scope, max_depth=9), key="default"
        )

    with brokers.topic("dead.letters") as letters, brokers.topic("urls.admitted") as admitted:
        define('domain("allowed.example")')

        def is_refused() -> bool:
            brokers.put("seeds", b"http://foreign.example/")
            return any("out of scope" in letter["reason"] for letter in letters.read())

        until(is_refused, "a seed out of scope")
        define("any()")

        def is_accepted() -> bool:
            brokers.put("seeds", b"http://foreign.example/")
            return any("http://foreign.example/" in str(e) for e in admitted.read()[-3:])

        until(is_accepted, "the seed in scope")


def test_crawl_with_a_topic_of_its_own_publishes_there_alone(
    brokers: Brokers, instance: Instance
) -> None:
    own, url = "pages.apart", "http://apart.example.org/"
    list(Topics(brokers.settings, [own]).create())
    definition = event(
        event="crawl_defined", crawl="apart", scope="any()", max_depth=9, own_topic=True
    )
    with brokers.topic(own) as apart, brokers.topic("pages") as pages:
        brokers.put("control", definition, key="crawl_defined/apart")
        numbers = count()

        def is_defined() -> bool:
            # Pages are on another topic than the definition, and may be read before it.
            earlier = f"http://apart.example.org/{next(numbers)}"
            brokers.put("pages.parsed", parsed_page(earlier, SITE, crawl="apart"), SITE)
            return bool(keys(apart))

        until(is_defined, "the definition of the crawl is read")
        for crawl, status in (("apart", 200), ("default", 200), ("apart", 410)):
            page = parsed_page(url, SITE, crawl=crawl, status=status, fetched_at=status / 100)
            brokers.put("pages.parsed", page, SITE)
        until(lambda: any(key == f"default/{url}".encode() for key in keys(pages)), "one document")
        until(lambda: {} in apart.read(), "a document and a tombstone")
        assert f"apart/{url}".encode() in keys(apart)
        assert all(key.startswith(b"apart/") for key in keys(apart))
        assert apart.headers[f"apart/{url}".encode()]["crawl"] == b"apart"
        assert f"apart/{url}".encode() not in keys(pages)


def keys(topic: Topic) -> list[bytes]:
    topic.read()
    return [key for _, key, _ in topic.records]


def test_seed_that_follows_the_definition_of_its_crawl_is_accepted(
    brokers: Brokers, instance: Instance
) -> None:
    url = "http://several.example.org/"
    with brokers.topic("dead.letters") as letters, brokers.topic("urls.admitted") as admitted:
        for number in range(5):
            crawl = f"news-{number}"
            definition = event(event="crawl_defined", crawl=crawl, scope="any()", max_depth=9)
            brokers.put("control", definition, key=f"crawl_defined/{crawl}")
            brokers.put("seeds", event(event="seed_added", crawl=crawl, url=url))

        def crawls() -> list[str]:
            return sorted(e["crawl"] for e in admitted.read() if url in str(e))

        until(lambda: len(crawls()) >= 5, "an admission for each crawl")
        assert crawls() == [f"news-{number}" for number in range(5)]
        brokers.put("seeds", event(event="seed_added", crawl="unknown", url=url))
        until(lambda: any("'unknown'" in letter["reason"] for letter in letters.read()), "a letter")
        assert not any("'news-" in letter["reason"] for letter in letters.read())


def test_removed_crawl_loses_its_documents_and_the_other_keeps_its_own(
    brokers: Brokers, instance: Instance
) -> None:
    url, new = "http://two.example.org/", "http://two.example.org/new"

    def discover(crawl: str, via: str, *urls: str) -> None:
        found = [{"url": one} for one in urls]
        value = event(event="urls_discovered", crawl=crawl, site=SITE, via=via, urls=found)
        brokers.put("urls.discovered", value, SITE)

    with brokers.topic("urls.admitted") as admitted, brokers.topic("pages") as pages:

        def admissions() -> list[tuple[str, str]]:
            events = [e for e in admitted.read() if e["event"] == "urls_admitted"]
            return [(e["crawl"], found["url"]) for e in events for found in e["urls"]]

        def published() -> dict[str, bytes | None]:
            pages.read()
            return {key.decode(): value for _, key, value in pages.records}

        for crawl in ("removed", "kept"):
            definition = event(event="crawl_defined", crawl=crawl, scope="any()", max_depth=9)
            brokers.put("control", definition, key=f"crawl_defined/{crawl}")
            discover(crawl, "one", url)
            brokers.put("pages.parsed", parsed_page(url, SITE, crawl=crawl), SITE)
        until(lambda: {("removed", url), ("kept", url)} <= {*admissions()}, "both admissions")
        until(lambda: {f"removed/{url}", f"kept/{url}"} <= published().keys(), "both documents")
        erasure = {
            "target": SITE,
            "requested_at": 2.0,
            "requested_by": "me",
            "key_group": 0,
            "orders": 0,
        }
        begun = {"event": "erasure_begun", "crawl": "removed", "site": SITE, "erasure": erasure}
        brokers.put("urls.discovered", event(**begun, urls=[url], removal=True), SITE)
        until(lambda: any(e.get("removal") for e in admitted.read()), "the reply")
        until(lambda: published()[f"removed/{url}"] is None, "the tombstone")
        assert published()[f"kept/{url}"]
        discover("removed", "two", url, new)
        discover("kept", "two", url, new)
        until(lambda: ("kept", new) in admissions(), "a new URL of the other crawl")
        later = [found for found in admissions() if found[1] in (url, new)]
        assert sorted(set(later)) == [("kept", url), ("kept", new), ("removed", url)]
    table = instance.other_store().table(DocumentRow)
    assert table.get(("removed", url)) is None and table.get(("kept", url))


def test_definitions_are_read_before_other_records(
    kafka: str, tmp_path: Path, engine: Engine
) -> None:
    brokers = Brokers(kafka, f"dedup-{uuid.uuid4().hex[:8]}.")
    scope = 'domain("allowed.example")'
    brokers.put("control", event(event="crawl_defined", scope=scope, max_depth=9), key="default")
    brokers.put("seeds", b"http://foreign.example/")
    instance = Instance(brokers, tmp_path, engine=engine).start()
    with brokers.topic("dead.letters") as letters:
        (letter,) = letters.at_least(1)
    instance.stop()
    assert "out of scope" in letter["reason"]


def test_invalid_link_becomes_a_dead_letter_and_dedup_continues(
    brokers: Brokers, instance: Instance
) -> None:
    with brokers.topic("dead.letters") as letters, brokers.topic("urls.admitted") as admitted:
        brokers.put("urls.discovered", urls_discovered("example.org", "v", "no URL"), "example.org")
        until(
            lambda: any(b"no URL" in b64decode(letter["value"]) for letter in letters.read()),
            "its dead letter",
        )
        good = f"http://example.org/{uuid.uuid4().hex}"
        brokers.put("urls.discovered", urls_discovered("example.org", "v", good), "example.org")
        until(lambda: any(good in str(e) for e in admitted.read()), "the valid link")
    assert not instance.has_ended


def test_folder_in_use_is_locked(
    brokers: Brokers, instance: Instance, folder: Path, engine: Engine
) -> None:
    second = Instance(brokers, folder, engine=engine).start()
    until(lambda: second.has_ended, "the end of the second instance")
    assert isinstance(second.failure, Locked)
    assert str(folder / "one") in str(second.failure)


def test_host_statistics_survive_a_restart(kafka: str, tmp_path: Path, engine: Engine) -> None:
    brokers = Brokers(kafka, f"dedup-{uuid.uuid4().hex[:8]}.")
    host = "http://shown.example.org"
    crawl = event(event="crawl_defined", scope="any()", max_depth=9, url_steps=["session_id"])
    brokers.put("control", crawl, key="default")

    def discover(*urls: str, guess: bool = False) -> None:
        """Discover links on a new page."""
        links = [{"url": host + url, "guess": guess} for url in urls]
        via = f"1.1.0@{host}/{uuid.uuid4().hex}"
        value = event(event="urls_discovered", site=SITE, via=via, urls=links)
        brokers.put("urls.discovered", value, SITE)

    def paths(admitted: Topic) -> list[str]:
        return [one["url"].removeprefix(host) for e in admitted.read() for one in e["urls"]]

    with brokers.topic("urls.admitted") as admitted, brokers.topic("pages") as pages:
        first = Instance(brokers, tmp_path, engine=engine).start().await_ready()
        discover(*(f"/guess/{n}" for n in range(12)), guess=True)
        until(lambda: len(paths(admitted)) == 10, "the initial number of guesses")
        for n in range(10):
            brokers.queue("pages.parsed", parsed_page(f"{host}/guess/{n}", SITE, status=404), SITE)
        for n in range(3):
            for url in (f"{host}/{n}", f"{host}/{n}?sid=1"):
                brokers.queue("pages.parsed", parsed_page(url, SITE, digest=f"text {n}"), SITE)
        brokers.flush()
        until(lambda: len(pages.read()) == 6, "six documents")
        first.stop()
        second = Instance(brokers, tmp_path, engine=engine).start().await_ready()
        discover("/another/guess", "/guess/11", guess=True)
        discover("/y?sid=5")
        until(lambda: "/y" in paths(admitted), "a link without the session id")
        second.stop()
        assert sorted(paths(admitted)) == [*(f"/guess/{n}" for n in range(10)), "/y"]
    assert not first.failure and not second.failure
