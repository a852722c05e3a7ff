"""A log on three brokers of which one is cut off: reads, writes and lags continue."""

from contextlib import closing
from pathlib import Path

import pytest

from gossamer.log import Message
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.settings.servers import KafkaSettings
from tests.servers.nodes import three_of_each


@pytest.mark.nodes
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_log_works_with_two_of_three_brokers(tmp_path: Path) -> None:
    """A broker that is cut off refuses no connection: the client must detect the loss itself."""
    with three_of_each(tmp_path, "kafka") as nodes:
        settings = KafkaSettings(
            servers=nodes.brokers,
            partitions=6,
            replication=3,
            timeout=60.0,
        )
        list(Topics(settings).apply())
        with closing(KafkaLog(settings)) as log:
            use(log)
            nodes.of["kafka"][0].cut()
            use(log)
            nodes.of["kafka"][0].heal()


def use(log: KafkaLog) -> None:
    """Write to every partition, and read the lag of a group in each."""
    log.append([Message("visits.ended", "", b"{}", f"{n}.example") for n in range(50)])
    assert sum(log.lag_by_partition("frontier", "visits.ended").values()) > 0
