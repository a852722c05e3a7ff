"""Where the group stands on the topics that Dedup reads: gaps, and what may be deleted.

Faust's consumer goes on behind a gap without a word, and deletes nothing.
"""

from collections.abc import Collection, Mapping

from confluent_kafka import Consumer, TopicPartition
from faust.types import TP

from gossamer.log.kafka.client import Trouble, client, consumer
from gossamer.log.kafka.gaps import GapCheck
from gossamer.log.kafka.trimming import Trimmer
from gossamer.settings.servers import KafkaSettings
from services.dedup.service import Dedup


class Offsets:
    """Asks about Dedup's group without being a member. Its methods block."""

    def __init__(self, kafka: KafkaSettings) -> None:
        trouble, group = Trouble(kafka.servers), kafka.prefix + Dedup.name
        asking = Consumer({**client(kafka, trouble), **consumer(group)})
        self._prefix, self._gaps = kafka.prefix, GapCheck(kafka, group, asking, trouble)
        self._trimmer = Trimmer(kafka)

    def standing(self, tps: Collection[TP]) -> dict[TP, int]:
        """Return the offsets that the group goes on from; raise Gap if records are missing."""
        found = self._gaps.standing([TopicPartition(tp.topic, tp.partition) for tp in tps])
        return {TP(*at): offset for at, offset in found.items()}

    def check(self, positions: Mapping[TP, int]) -> None:
        """Raise Gap if records from one of *positions* on are missing."""
        self._gaps.check({(tp.topic, tp.partition): n for tp, n in positions.items()})

    def trim(self, tps: Collection[TP]) -> None:
        """Delete what was read of *tps*, if that is due again."""
        self._trimmer.trim((tp.topic.removeprefix(self._prefix), tp.partition) for tp in tps)
