"""Policy on outcomes and hazards is whole, and every name in it leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from pydantic import BaseModel

from gossamer.events.hazards import HAZARDS, Hazard, count_hazards, counted_by
from gossamer.events.outcomes import OUTCOMES, Fate, Outcome, Wait, check_complete
from gossamer.settings import FrontierSettings, Settings
from schemas import outcomes
from services.dedup.service import Dedup
from services.fetcher.service import Fetcher
from services.frontier.politeness import trouble_wait
from services.frontier.service import Frontier
from services.parser.service import Parser

SERVICES = {Dedup.name, Fetcher.name, Frontier.name, Parser.name}
FRONTIER = FrontierSettings()
ELSEWHERE: dict[str, set[Hazard]] = {name: set() for name in SERVICES} | {
    "frontier": {Hazard.REDIRECT, Hazard.DNS_WILDCARD},
    "dedup": {Hazard.OUT_OF_SCOPE},
}
"""Hazards that a service names as a reason, while another one has counted the occurrence."""


def setting_names() -> Iterator[str]:
    settings = Settings()
    for section in Settings.model_fields:
        values = getattr(settings, section)
        assert isinstance(values, BaseModel)
        yield from (f"{section}.{name}" for name in type(values).model_fields)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_a_policy_that_holds_together(outcome: Outcome) -> None:
    meaning = OUTCOMES[outcome]
    assert meaning.text.endswith(".")
    in_trouble = meaning.fate in (Fate.WAIT, Fate.AGAIN)
    assert (trouble_wait(FRONTIER, "http://a.test", outcome, 1, 0.0) > 0) is in_trouble
    assert not meaning.health.failed or in_trouble
    assert meaning.fate is not Fate.WAIT or meaning.ends_order, "it would be tried on, in vain"


@pytest.mark.parametrize("hazard", Hazard)
def test_every_hazard_has_a_sentence_and_somebody_who_counts_it(hazard: Hazard) -> None:
    row = HAZARDS[hazard]
    assert row.text.endswith(".")
    assert row.services and set(row.services) <= SERVICES
    assert set(row.settings) <= set(setting_names())


def test_the_settings_that_bound_a_wait_exist() -> None:
    named = {name for wait in Wait for name in re.findall("`([^`]+)`", wait.value)}
    assert named and named <= set(setting_names())


@pytest.mark.parametrize("forgotten", [Outcome.GONE, Outcome.BUSY])
def test_an_outcome_without_a_policy_stops_the_import(forgotten: Outcome) -> None:
    table = {name: row for name, row in OUTCOMES.items() if name is not forgotten}
    with pytest.raises(LookupError, match=forgotten):
        check_complete(Outcome, table, "OUTCOMES")


def counted(hazard: str) -> float:
    return REGISTRY.get_sample_value("gossamer_hazards_total", {"hazard": hazard}) or 0.0


def test_a_service_counts_what_is_its_own() -> None:
    before = counted("infinite_body"), counted("malformed_url")
    count_hazards("parser", ["infinite_body", "malformed_url"])
    assert (counted("infinite_body"), counted("malformed_url")) == (before[0], before[1] + 1)


def test_a_hazard_that_is_in_no_table_cannot_be_counted() -> None:
    with pytest.raises(ValueError, match="no_such_hazard"):
        count_hazards("fetcher", ["no_such_hazard"])


def test_a_hazard_of_another_version_does_no_harm_to_who_reads_of_it() -> None:
    assert counted_by("fetcher", ["no_such_hazard", "redirect"]) == ["redirect"]


def test_the_documentation_is_that_of_the_tables() -> None:
    assert outcomes.FILE.read_text(encoding="utf-8") == outcomes.text(), "run scripts/schemas"


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_a_hazard_is_counted_by_the_service_that_meets_it(service: str) -> None:
    folder = Path(__file__).parents[2] / "services" / service
    sources = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    met = {Hazard[name] for text in sources for name in re.findall(r"\bHazard\.([A-Z_0-9]+)", text)}
    assert met, "nothing was looked at"
    assert {name for name in met if service not in HAZARDS[name].services} <= ELSEWHERE[service]
