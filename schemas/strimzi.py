"""Writes the topics as objects for Strimzi, which makes them on a cluster that it runs.

python -m schemas.strimzi [FILE]      (what scripts/schemas runs)
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from gossamer.log.kafka.topics import Wanted, wanted
from gossamer.settings.servers import KafkaSettings

OVERLAY = Path(__file__).resolve().parents[1] / "k8s" / "overlays" / "production"
FILE = OVERLAY / "kafka" / "topics.yaml"
HEAD = "# Written by scripts/schemas, from schemas/topics and the prefix in ../settings.env.\n"
CLUSTER = "gossamer"


def main(file: Path) -> None:
    """Write all topics into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return all topics, one object each."""
    topics = [_topic(one) for one in wanted(KafkaSettings(prefix=_prefix()))]
    return HEAD + yaml.safe_dump_all(topics, sort_keys=False)


def _prefix() -> str:
    lines = (OVERLAY / "settings.env").read_text(encoding="utf-8").splitlines()
    (prefix,) = (
        line.partition("=")[2] for line in lines if line.startswith("GOSSAMER_KAFKA__PREFIX=")
    )
    return prefix


def _topic(one: Wanted) -> dict[str, Any]:
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaTopic",
        "metadata": {"name": one.name, "labels": {"strimzi.io/cluster": CLUSTER}},
        "spec": {
            "partitions": one.partitions,
            "replicas": one.replication,
            "config": dict(sorted(one.config.items())),
        },
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
