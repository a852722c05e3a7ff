"""Commands about the worth of sites on a fleet that crawls traps: the operator has only a file of
settings."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Done
from tests.support.waiting import until
from tests.traps import RunningTraps, TrapWeb

from .by_hand import of_servers
from .crawl import GOSSAMER, Fields, run
from .fleet import WebFleet, web_fleet

WEB = TrapWeb(seed=4, traps=("calendar",), pages=30, sites=3)
SITE = "calendar.test"
MIN_PARKED = 40
BUDGETS = 5
SETTINGS = {
    "GOSSAMER_FRONTIER__DELAY": "0.02",
    "GOSSAMER_FRONTIER__URL_BUDGET": "150",
}


class Operator:
    """The commands of an operator of *live_fleet*, with a file of its settings."""

    def __init__(self, live_fleet: WebFleet) -> None:
        self._config = live_fleet.folder / "operator.toml"
        lines = list[str]()
        for name, value in live_fleet.settings.items():
            section, _, field = name.removeprefix("GOSSAMER_").lower().partition("__")
            is_text = not (value.startswith("[") or value.replace(".", "", 1).isdecimal())
            lines.append(f"{section}.{field} = {json.dumps(value) if is_text else value}")
        self._config.write_text("\n".join(lines))

    def __call__(self, word: str, *options: str) -> Done:
        return run([GOSSAMER, word, *options, "--config", str(self._config)])

    def shown(self, word: str, *options: str) -> str:
        """Return the output of a command that succeeds."""
        done = self(word, *options)
        assert (done.code, done.err) == (0, ""), done
        return done.out

    def parts(self) -> Fields:
        """Return the parts of the site with the trap; nothing before its first visit."""
        done = self("sites", SITE, "--json")
        assert not done.err, done
        found: Fields = json.loads(done.out)
        return found


@pytest.mark.long
def test_operator_of_a_fleet_sees_the_worth_of_sites_and_releases_parked_urls(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = of_servers(kafka, cassandra) | SETTINGS
    with RunningTraps(WEB) as web, web_fleet(web, tmp_path, 1, **settings) as live_fleet:
        operator = Operator(live_fleet)
        live_fleet.seed()
        until(lambda: operator.parts()["parked"] >= MIN_PARKED, "parked URLs of the calendar")
        until(live_fleet.idle, "the end of the crawl")
        parked = check_parts(operator)
        check_report(operator)
        check_release(operator, web, parked)


def check_parts(operator: Operator) -> dict[str, int]:
    """Check the lines about the site with the trap; return the names of its parked parts."""
    first, *lines = operator.shown("sites", SITE).splitlines()
    assert first.startswith(f"{SITE}: ") and first.endswith(" URLs parked.")
    assert any(line.startswith("  found   ") for line in lines)
    assert sum(line.startswith("  budget  ") for line in lines) == BUDGETS
    assert any("/calendar" in line for line in lines)
    found = operator.parts()
    assert found["visits"] > 0
    parked = {part["name"]: part["parked"] for part in found["parts"] if part["parked"]}
    assert any("/calendar" in name for name in parked)
    assert SITE in operator.shown("sites")
    return parked


def check_report(operator: Operator) -> None:
    """Check the report and its advice."""
    report = operator.shown("report")
    assert ", 4 new sites, " in report and "parked, little new there" in report
    assert f"http://{SITE}" in report and "200 OK" in report
    advice = operator.shown("report", "--advice")
    assert "worth_parking" not in advice
    hazards = json.loads(operator.shown("report", "--json"))["hazards"]
    assert {one["hazard"]: one["refused"] for one in hazards}["low_worth"] >= MIN_PARKED


def check_release(operator: Operator, web: RunningTraps, parked: dict[str, int]) -> None:
    """Check that parked URLs are visited after a release, and that wrong names are refused."""
    done = operator("release", SITE, "nothing")
    assert done.code == 2 and repr(next(iter(parked))) in done.err, done
    assert "Hazard" not in done.err
    nobody = operator("release", "unknown.test")
    assert nobody.code == 1 and "No URL of unknown.test is parked." in nobody.out
    name, urls = max(parked.items(), key=lambda one: one[1])
    before = len(web.requests())
    shown = operator.shown("release", SITE, name)
    assert f" of {SITE} to be visited." in shown
    enough = min(urls, MIN_PARKED)
    until(lambda: len(web.requests()) >= before + enough, "visits to the released URLs")
    assert all(one.host == SITE for one in web.requests()[before : before + enough])
