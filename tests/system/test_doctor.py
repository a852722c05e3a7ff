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


@pytest.mark.long
def test_sound_fleet_has_no_problems_and_broken_parts_are_reported(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = of_servers(kafka, cassandra)
    keyspace, prefix = settings["GOSSAMER_CASSANDRA__KEYSPACE"], settings["GOSSAMER_KAFKA__PREFIX"]
    _, wrong = examine(settings)
    assert {one["check"] for one in wrong} == {"topics", "tables"}
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        findings, wrong = examine(live_fleet.settings)
        assert wrong == []
        assert "frontier: 1 member" in problems_named(findings, "groups")
        assert "dedup" in problems_named(findings, "checkpoints")
        assert str(tmp_path / "warc") in problems_named(findings, "identity")
        assert {"clocks", "versions"} <= {one["check"] for one in findings}
        for member in live_fleet.members:
            member.stop()
        live_fleet.seed()
        until(lambda: bool(examine(live_fleet.settings)[1]), "the members are gone")
        (group,) = examine(live_fleet.settings)[1]
        assert group["found"].startswith("dedup: 0 members") and "dedup" in group["remedy"]

        admin: Any = AdminClient({"bootstrap.servers": kafka})
        admin.delete_topics([f"{prefix}pages.deduplicated"])[f"{prefix}pages.deduplicated"].result()
        with Cluster(["127.0.0.1"], port=cassandra) as cluster, cluster.connect() as session:
            session.execute(f"ALTER TABLE {keyspace}.hosts DROP ready_at")
            session.execute(f"ALTER TABLE {keyspace}.due WITH gc_grace_seconds = 1000")
        until(
            lambda: len(examine(live_fleet.settings)[1]) == 2, "the brokers have deleted the topic"
        )
        _, (topics, tables) = examine(live_fleet.settings)
        assert f"{prefix}pages.deduplicated" in topics["found"] and "apply" in topics["remedy"]
        assert "ready_at" in tables["found"] and "apply" in tables["remedy"]
        live_fleet.gossamer("store", "apply")
        findings, _ = examine(live_fleet.settings)
        kept = "tables correct; set by an operator: table due: gc_grace_seconds stays 1000"
        assert kept in problems_named(findings, "tables")
