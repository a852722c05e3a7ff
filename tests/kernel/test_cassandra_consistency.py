"""Refused consistency levels, by the data centres with copies of the keyspace.

A node of this machine accepts no keyspace with copies in a data centre that does not exist, so the
answer of the nodes is given here.
"""

from typing import Any, cast

import pytest

from gossamer.errors import BadSettings
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.tables import check_consistency

NETWORK = "org.apache.cassandra.locator.NetworkTopologyStrategy"
TWO = {"class": NETWORK, "east": "3", "west": "3"}
STANDBY_WITHOUT_COPIES = {"class": NETWORK, "east": "3", "west": "0"}
SIMPLE = {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "3"}


class Nodes:
    def __init__(self, replication: dict[str, str]) -> None:
        self._replication = replication

    def query(self, cql: str, values: Any) -> list[tuple[dict[str, str]]]:
        return [(self._replication,)]


def check(replication: dict[str, str], consistency: str) -> None:
    settings = CassandraSettings.model_validate(
        {"hosts": ["n"], "datacenter": "east", "consistency": consistency, "keyspace": "crawl"}
    )
    check_consistency(cast(Cassandra, Nodes(replication)), settings)


def test_local_quorum_is_refused_if_two_data_centres_have_copies() -> None:
    with pytest.raises(BadSettings) as refused:
        check(TWO, "LOCAL_QUORUM")
    said = str(refused.value)
    for words in ("cassandra.consistency is LOCAL_QUORUM", "crawl", "east, west", "QUORUM for all"):
        assert words in said


@pytest.mark.parametrize(
    ("replication", "consistency"),
    [
        (TWO, "QUORUM"),
        (TWO, "ALL"),
        (STANDBY_WITHOUT_COPIES, "LOCAL_QUORUM"),
        (SIMPLE, "LOCAL_QUORUM"),
        ({"class": NETWORK, "east": "3/1"}, "LOCAL_QUORUM"),
    ],
)
def test_consistency_that_reaches_all_claims_is_accepted(
    replication: dict[str, str], consistency: str
) -> None:
    check(replication, consistency)
