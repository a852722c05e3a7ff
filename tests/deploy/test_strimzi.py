"""The topics for Strimzi match `gossamer topics apply`, KEDA and the user's rights."""

import yaml

from gossamer.events.topics import PAGES_FETCHED, TOPICS, VISITS_ORDERED, Retention
from gossamer.schemas.topics import STRIMZI

from .written import BASE, PRODUCTION, Fields, settings, written_objects


def test_file_has_each_topic() -> None:
    prefix = settings(BASE, PRODUCTION)["GOSSAMER_KAFKA__PREFIX"]
    there = {one["metadata"]["name"] for one in yaml.safe_load_all(STRIMZI.read_text())}
    assert there == {prefix + name for name in TOPICS}


def of_kind(kind: str) -> list[Fields]:
    folders = (PRODUCTION, PRODUCTION / "kafka")
    return [one for folder in folders for one in written_objects(folder) if one["kind"] == kind]


def test_keda_scales_by_the_topics_that_the_services_read() -> None:
    prefix = settings(BASE, PRODUCTION)["GOSSAMER_KAFKA__PREFIX"]
    reads = {"fetcher": VISITS_ORDERED, "parser": PAGES_FETCHED}
    scaled = {one["metadata"]["name"]: one["spec"] for one in of_kind("ScaledObject")}
    assert set(scaled) == set(reads)
    for name, spec in scaled.items():
        assert spec["scaleTargetRef"]["name"] == name
        (trigger,) = spec["triggers"]
        assert trigger["metadata"]["consumerGroup"] == prefix + name
        assert trigger["metadata"]["topic"] == prefix + reads[name].name


def test_keda_starts_no_more_instances_than_partitions() -> None:
    topics = {one["metadata"]["name"]: one["spec"] for one in of_kind("KafkaTopic")}
    for one in of_kind("ScaledObject"):
        (trigger,) = one["spec"]["triggers"]
        assert one["spec"]["maxReplicaCount"] <= topics[trigger["metadata"]["topic"]]["partitions"]


def test_user_has_rights_for_the_prefix_only() -> None:
    expected = settings(BASE, PRODUCTION)
    (user,) = of_kind("KafkaUser")
    assert user["metadata"]["name"] == expected["GOSSAMER_KAFKA__USERNAME"]
    resources = [acl["resource"] for acl in user["spec"]["authorization"]["acls"]]
    assert {it["type"] for it in resources} == {"topic", "group"}
    prefix = expected["GOSSAMER_KAFKA__PREFIX"]
    until_read = [
        name for name, topic in TOPICS.items() if topic.retention is Retention.UNTIL_CONSUMED
    ]
    assert {(it["name"], it["patternType"]) for it in resources} == {
        (prefix, "prefix"),
        *((prefix + name, "literal") for name in until_read),
    }
