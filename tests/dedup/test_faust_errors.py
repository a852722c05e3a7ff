"""Which errors of the brokers dedup waits out, and which somebody has to mend."""

import subprocess
import sys
from pathlib import Path

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
from services.dedup.faust.app import translate_error

ROOT = Path(__file__).resolve().parents[2]


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


HANGING = """
import asyncio, threading
from services.dedup.faust.app import exit_after

async def stop():
    with exit_after(0.1):
        threading.Event().wait()

asyncio.run(stop())
"""


@pytest.mark.slow
def test_a_faust_that_does_not_stop_ends_with_its_process_and_shows_where_it_was() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "Faust does not stop" in ended.stdout + ended.stderr
    assert "in stop" in ended.stderr
