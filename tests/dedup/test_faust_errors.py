"""Transient and permanent errors of the brokers, and a Faust that does not stop."""

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
from gossamer.services.dedup.faust.app import translate_error

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
def test_transient_errors_are_unavailable(error: Exception) -> None:
    sending = ProducerSendError("cannot send")
    sending.__cause__ = error
    assert isinstance(translate_error(error), Unavailable)
    assert isinstance(translate_error(sending), Unavailable)


def test_permanent_errors_end_the_process() -> None:
    translated = translate_error(TopicAuthorizationFailedError("visits.ended"))
    assert isinstance(translated, GossamerError) and not isinstance(translated, Unavailable)
    assert "visits.ended" in str(translated)


HANGING = """
import asyncio, threading
from gossamer.services.dedup.faust.app import exit_after

async def stop():
    with exit_after(0.1):
        threading.Event().wait()

asyncio.run(stop())
"""


@pytest.mark.slow
def test_process_exits_with_a_traceback_if_faust_does_not_stop() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "Faust does not stop" in ended.stdout + ended.stderr
    assert "in stop" in ended.stderr
