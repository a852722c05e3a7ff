"""Failures in groups, with examples that still hold, and the appropriate action."""

import re
from collections import Counter
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, Outcome, Purpose
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import FAILURES
from gossamer.inspection.answers.failures import (
    REMEDIES,
    Action,
    FailureGroup,
    make_group,
    read_failure_groups,
    read_outcomes,
)
from gossamer.inspection.basics.labels import OUTCOME_LABELS
from gossamer.inspection.progress.progress import Progress
from gossamer.inspection.urls.visits import parse_outcome
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.urls import Origin, UrlRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.settings import Settings
from tests.frontier.simulation import PARTITIONS, START, Simulation
from tests.inspection.simulated import opened
from tests.support.transcripts import Transcript


def test_every_failure_has_an_action_and_every_success_has_none() -> None:
    for outcome, remedy in REMEDIES.items():
        is_success = outcome in (Outcome.PAGE, Outcome.NOT_MODIFIED, Outcome.REDIRECT)
        assert remedy.text.endswith(".")
        assert not is_success or remedy.action is Action.NOTHING


def test_settings_that_remedies_name_exist() -> None:
    settings = Settings()
    named = {
        name
        for remedy in REMEDIES.values()
        for name in re.findall(r"\b([a-z]+\.[a-z_]+)\b", remedy.text)
        if name != "robots.txt"
    }
    assert len(named) > 3
    for name in named:
        section, _, field = name.partition(".")
        assert hasattr(getattr(settings, section), field), name


@pytest.mark.parametrize("outcome", FAILURES)
def test_group_of_an_outcome_has_its_share_and_text(outcome: Outcome) -> None:
    progress = Progress(outcomes=Counter({outcome: 1, Outcome.PAGE: 3}))
    group = make_group(OUTCOME_LABELS[outcome], 1, progress)
    assert str(outcome) in group.names and group.share == 0.25
    assert group.text and group.remedy and not group.is_refusal
    assert group.outcome == "" or parse_outcome(group.outcome).outcome is outcome


def test_group_of_a_refusal_names_its_settings() -> None:
    progress = Progress(admitted=6, refused=Counter(trap_urls=2), hazards=Counter(trap_urls=2))
    group = make_group("parked, over the URL budget of a site", 2, progress)
    assert group.is_refusal and group.share == 0.25
    assert group.action is Action.CHANGE_SETTING and group.settings[0] in group.remedy


def test_refusal_that_is_named_after_an_outcome_has_its_action(transcript: Transcript) -> None:
    progress = Progress(hazards=Counter(robots_excluded=2), refused=Counter(robots_excluded=2))
    group = make_group("excluded by robots.txt", 2, progress)
    assert group.is_refusal and group.action is Action.NOTHING
    transcript.add("excluded by robots.txt", [group.remedy])


class Web:
    """A web in which `/gone` is 404, and `/broken` fails until it is repaired."""

    is_repaired = False

    def __call__(self, url: str) -> Mapping[str, object]:
        if "gone" in url:
            return {"outcome": Outcome.GONE, "status": 404}
        if "broken" in url and not self.is_repaired:
            return {"outcome": Outcome.SERVER_ERROR, "status": 503}
        if "down" in url:
            return {"outcome": Outcome.HOST_DOWN, "reason": "connection refused"}
        return {}


def groups(sim: Simulation) -> dict[str, FailureGroup]:
    return {group.label: group for group in read_failure_groups(opened(sim))}


def test_groups_have_examples_of_different_hosts_with_status_and_time() -> None:
    sim = Simulation(Web())
    sim.admit(*(f"http://{host}.example/gone{n}" for host in "abc" for n in range(9)))
    sim.admit("http://down.example/", "http://a.example/broken")
    sim.run(until=START + 3600.0)
    found = groups(sim)
    gone = found["404"]
    assert gone.count == 27 and gone.outcome == "gone" and gone.action is Action.NOTHING
    assert {example.host for example in gone.examples} == {f"http://{h}.example" for h in "abc"}
    assert {example.text for example in gone.examples} == {"404 Not Found"}
    assert all(example.at and START <= example.at <= sim.now for example in gone.examples)
    (down,) = found["no connection"].examples
    assert down.host == "http://down.example" and "connection refused" in down.text
    assert next(iter(found)) == "404", "the most frequent failure is first"


def test_repaired_url_is_no_example_any_more() -> None:
    web = Web()
    sim = Simulation(web)
    sim.admit("http://a.example/broken")
    sim.run(until=START + 10.0)
    (example,) = groups(sim)["5xx"].examples
    assert (example.url, example.status) == ("http://a.example/broken", 503)
    web.is_repaired = True
    sim.run()
    assert groups(sim)["5xx"].examples == ()


def test_hazard_examples_are_pages_that_met_it() -> None:
    sim = Simulation(lambda url: {"hazards": (Hazard.CUT_SHORT,)})
    sim.admit("http://a.example/x")
    sim.run()
    (group,) = groups(sim).values()
    assert not group.is_refusal
    assert group.examples[0].url == "http://a.example/x"
    assert group.examples[0].text == "page"


def test_released_urls_are_no_failure_any_more() -> None:
    sim = Simulation()
    key = partition_keys(PARTITIONS)[0]
    counts = {"hazards": {Hazard.LOW_WORTH: 5}, "parked": {Hazard.LOW_WORTH: 2}}
    sim.store.table(TallyRow).put(TallyRow(DEFAULT_CRAWL, key, **counts))  # type: ignore[arg-type]
    sim.store.flush()
    (group,) = groups(sim).values()
    assert group.count == 2


def test_pages_of_outcomes_are_the_whole_list(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulation(Web())
    urls = sorted(f"http://a.example/{name}{n}" for name in ("gone", "page") for n in range(25))
    sim.admit(*urls)
    sim.run()
    crawl, found, after = opened(sim), list[str](), None
    while True:
        page = read_outcomes(crawl, "a.example", None, after, 7)
        found += [one.url for one in page.items]
        if (after := page.next) is None:
            break
    assert found == [url for url in urls if "gone" in url]
    row = crawl.store().table(UrlRow).get((DEFAULT_CRAWL, "http://a.example"), found[0])
    assert row
    # Report browsertrix-crawler #933: a usual sitemap that does not exist is not a failure.
    usual = replace(row, origin=Origin(purpose=Purpose.USUAL_SITEMAP))
    sim.store.table(UrlRow).put(usual)
    sim.store.flush()
    for chosen in (None, parse_outcome("gone")):
        shown = read_outcomes(opened(sim), "a.example", chosen, None, 100)
        assert [one.url for one in shown.items] == found[1:]
    pages = read_outcomes(crawl, "a.example", parse_outcome("page"), None, 100)
    assert [one.url for one in pages.items] == [url for url in urls if "page" in url]
    monkeypatch.setattr("gossamer.inspection.answers.failures.READ_ROWS", 10)
    monkeypatch.setattr("gossamer.inspection.answers.failures.MAX_SCANNED_URLS", 20)
    first = read_outcomes(crawl, "a.example", parse_outcome("page"), None, 100)
    assert first.is_partial and first.next == urls[19] and not first.items
