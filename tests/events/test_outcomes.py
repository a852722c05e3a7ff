"""The tables of outcomes and hazards are complete, and their names exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from pydantic import BaseModel

from gossamer.events.hazards import HAZARDS, Hazard, count_hazards, hazards_of
from gossamer.events.outcomes import OUTCOMES, Fate, Outcome, Wait, check_complete
from gossamer.services.dedup.service import Dedup
from gossamer.services.fetcher.service import Fetcher
from gossamer.services.frontier.partition.politeness import failure_wait
from gossamer.services.frontier.service import Frontier
from gossamer.services.parser.service import Parser
from gossamer.settings import FrontierSettings, Settings
from gossamer.web.url import HostKey

SERVICES = {Dedup.name, Fetcher.name, Frontier.name, Parser.name}
FRONTIER = FrontierSettings()
ELSEWHERE: dict[str, set[Hazard]] = {name: set() for name in SERVICES} | {
    "frontier": {
        Hazard.REDIRECT,
        Hazard.DNS_WILDCARD,
        Hazard.DNS_WILDCARD_SUFFIX,
        Hazard.CONDITIONS_REFUSED,
        Hazard.DUPHOST,
        Hazard.NEEDS_RENDERING,
        Hazard.READER_FAILED,
    },
    "dedup": {Hazard.OUT_OF_SCOPE, Hazard.INVALID_CERTIFICATE},
}
"""Hazards that a service reads, and another service has counted."""


def setting_names() -> Iterator[str]:
    settings = Settings()
    for section in Settings.model_fields:
        values = getattr(settings, section)
        assert isinstance(values, BaseModel)
        yield from (f"{section}.{name}" for name in type(values).model_fields)


@pytest.mark.parametrize("outcome", Outcome)
def test_policy_of_outcome_is_consistent(outcome: Outcome) -> None:
    meaning = OUTCOMES[outcome]
    assert meaning.text.endswith(".")
    has_wait = meaning.fate in (Fate.WAIT, Fate.RETRY)
    assert (failure_wait(FRONTIER, HostKey("http://a.test"), outcome, 1, 0.0) > 0) is has_wait
    assert not meaning.health.is_failing or has_wait
    assert meaning.fate is not Fate.WAIT or meaning.ends_order, (
        "the next URL of the order would fail in the same way"
    )


@pytest.mark.parametrize("hazard", Hazard)
def test_hazard_has_text_services_and_settings(hazard: Hazard) -> None:
    row = HAZARDS[hazard]
    assert row.text.endswith(".")
    assert row.services and set(row.services) <= SERVICES
    assert set(row.settings) <= set(setting_names())


def test_settings_of_waits_exist() -> None:
    named = {name for wait in Wait for name in re.findall("`([^`]+)`", wait.value)}
    assert named and named <= set(setting_names())


@pytest.mark.parametrize("missing", [Outcome.GONE, Outcome.BUSY])
def test_missing_outcome_raises_lookup_error(missing: Outcome) -> None:
    table = {name: row for name, row in OUTCOMES.items() if name is not missing}
    with pytest.raises(LookupError, match=missing):
        check_complete(Outcome, table, "OUTCOMES")


def hazard_count(hazard: str) -> float:
    return REGISTRY.get_sample_value("gossamer_hazards_total", {"hazard": hazard}) or 0.0


def test_service_counts_only_its_own_hazards() -> None:
    before = hazard_count("infinite_body"), hazard_count("malformed_url")
    count_hazards("parser", ["infinite_body", "malformed_url"])
    assert (hazard_count("infinite_body"), hazard_count("malformed_url")) == (
        before[0],
        before[1] + 1,
    )


def test_unknown_hazard_cannot_be_counted() -> None:
    with pytest.raises(ValueError, match="no_such_hazard"):
        count_hazards("fetcher", ["no_such_hazard"])


def test_unknown_hazard_of_another_version_is_ignored() -> None:
    assert hazards_of("fetcher", ["no_such_hazard", "redirect"]) == ["redirect"]


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_service_uses_only_hazards_that_it_counts(service: str) -> None:
    folder = Path(__file__).parents[2] / "services" / service
    sources = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    used = {
        Hazard[name] for text in sources for name in re.findall(r"\bHazard\.([A-Z_0-9]+)", text)
    }
    assert used, "no source was searched"
    assert {name for name in used if service not in HAZARDS[name].services} <= ELSEWHERE[service]
