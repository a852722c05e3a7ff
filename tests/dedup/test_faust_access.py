"""Dedup on Faust, on a Kafka with authentication."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.kafka_broker import PASSWORD, USER, Broker
from tests.support.waiting import until

from .instance import Brokers, Instance, Topic

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("kafka") / "data")
    broker.start()
    yield broker
    broker.server.kill()


@pytest.mark.long
def test_faust_authenticates_with_sasl_and_tls(broker: Broker, tmp_path: Path) -> None:
    brokers = Brokers(broker.open, "access.")
    credentials: dict[str, Any] = {"username": USER, "password": PASSWORD}
    plain = {**credentials, "servers": broker.sasl, "security": "sasl_plaintext"}
    tls = {**credentials, "servers": broker.tls, "security": "sasl_ssl", "ca_file": broker.ca_file}
    with brokers.topic("urls.admitted") as admitted:
        for number, access in enumerate((plain, tls), 1):
            instance = Instance(brokers, tmp_path, **access).start().await_ready()
            brokers.put("seeds", f"http://example.org/{number}".encode())
            # A member that misses its session timeout on a busy machine has not committed its
            # offsets, so that the next one admits the URL again.
            _await_url(admitted, number)
            instance.stop()
            assert not instance.failure


def _await_url(admitted: Topic, number: int) -> None:
    """Wait until the URL with *number* is admitted."""

    def is_admitted() -> bool:
        urls = [url["url"] for event in admitted.read() for url in event["urls"]]
        return f"http://example.org/{number}" in urls

    until(is_admitted, f"the admission of URL {number}")
