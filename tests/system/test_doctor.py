"""`gossamer doctor` on real servers: a sound fleet, and one with a broken topic and table."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cassandra.cluster import Cluster
from confluent_kafka.admin import AdminClient

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .by_hand import of_servers
from .crawl import GOSSAMER, Fields, run
from .fleet import fleet

MACHINE_CHECKS = {"dns", "disk"}
"""Checks of the machine, which are not asserted here."""
WORLD = World(seed=3, hosts=2, pages=2, silent=0, stuck=0)


def examine(settings: Mapping[str, str]) -> tuple[list[Fields], list[Fields]]:
    """Return all findings, and the findings with problems."""
    done = run([GOSSAMER, "doctor", "--json"], **settings)
    assert done.err == "", done
    findings: list[Fields] = json.loads(done.out)
    wrong = [one for one in findings if one["remedy"] is not None]
    assert done.code == (1 if wrong else 0), done
    return findings, [one for one in wrong if one["check"] not in MACHINE_CHECKS]


def problems_named(findings: list[Fields], check: str) -> str:
    return "\n".join(one["found"] for one in findings if one["check"] == check)


@pytest.mark.slow
def test_sound_fleet_has_no_problems_and_broken_parts_are_reported(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = of_servers(kafka, cassandra)
    keyspace, prefix = settings["GOSSAMER_CASSANDRA__KEYSPACE"], settings["GOSSAMER_KAFKA__PREFIX"]
    _, wrong = examine(settings)
    assert {one["remedy"] for one in wrong} == {
        "Run gossamer topics apply.",
        "Run gossamer store apply.",
    }
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        findings, wrong = examine(live_fleet.settings)
        assert wrong == []
        assert "frontier: 1 member, no lag" in problems_named(findings, "groups")
        assert "within 2 s of this machine" in problems_named(findings, "clocks")
        assert "dedup: log and store agree" in problems_named(findings, "checkpoints")
        assert "log and store belong together" in problems_named(findings, "identity")
        assert f"{tmp_path / 'warc'} belongs to this fleet" in problems_named(findings, "identity")
        assert "Kafka is 4 or later\nCassandra is 5." in problems_named(findings, "versions")
        for member in live_fleet.members:
            member.stop()
        live_fleet.seed()
        until(lambda: bool(examine(live_fleet.settings)[1]), "the members are gone")
        (group,) = examine(live_fleet.settings)[1]
        assert group["found"].startswith("dedup: 0 members, lag ")
        assert group["remedy"] == "Start the service dedup."

        admin: Any = AdminClient({"bootstrap.servers": kafka})
        admin.delete_topics([f"{prefix}pages.deduplicated"])[f"{prefix}pages.deduplicated"].result()
        with Cluster(["127.0.0.1"], port=cassandra) as cluster, cluster.connect() as session:
            session.execute(f"ALTER TABLE {keyspace}.hosts DROP ready_at")
            session.execute(f"ALTER TABLE {keyspace}.due WITH gc_grace_seconds = 1000")
        until(
            lambda: len(examine(live_fleet.settings)[1]) == 2, "the brokers have deleted the topic"
        )
        _, (topics, tables) = examine(live_fleet.settings)
        assert (topics["found"], topics["remedy"]) == (
            f"{prefix}pages.deduplicated is missing",
            "Run gossamer topics apply.",
        )
        assert tables["found"] == "table hosts has no column ready_at"
        assert tables["remedy"] == "Run gossamer store apply."
        live_fleet.gossamer("store", "apply")
        findings, _ = examine(live_fleet.settings)
        kept = "tables correct; set by an operator: table due: gc_grace_seconds stays 1000"
        assert kept in problems_named(findings, "tables")
