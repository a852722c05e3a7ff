"""A log on the topics of one test."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from gossamer.log.kafka.log import KafkaLog
from gossamer.settings.servers import KafkaSettings


@pytest.fixture
def log(settings: KafkaSettings) -> Iterator[KafkaLog]:
    """Return a log on the topics of *settings*, a fixture of the module."""
    with closing(KafkaLog(settings)) as log:
        yield log
