"""Which errors of the brokers dedup waits out, and which somebody has to mend."""

import pytest
from aiokafka.errors import (
    CommitFailedError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NotLeaderForPartitionError,
    TopicAuthorizationFailedError,
)
from faust.exceptions import ProducerSendError

from gossamer.errors import GossamerError, Unavailable
from services.dedup.faust.worker import translate_error


@pytest.mark.parametrize(
    "error",
    [
        KafkaConnectionError(),
        KafkaTimeoutError(),
        NotLeaderForPartitionError(),
        CommitFailedError(),
    ],
    ids=repr,
)
def test_what_passes_is_waited_out(error: Exception) -> None:
    sending = ProducerSendError("cannot send")
    sending.__cause__ = error
    assert isinstance(translate_error(error), Unavailable)
    assert isinstance(translate_error(sending), Unavailable)


def test_what_somebody_has_to_mend_ends_the_process() -> None:
    translated = translate_error(TopicAuthorizationFailedError("visits.ended"))
    assert isinstance(translated, GossamerError) and not isinstance(translated, Unavailable)
    assert "visits.ended" in str(translated)
