"""Dedup on Faust, on a Kafka with authentication."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.kafka_broker import PASSWORD, USER, Broker

from .instance import Brokers, Instance

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("kafka") / "data")
    broker.start()
    yield broker
    broker.server.kill()


def test_faust_authenticates_with_sasl_and_tls(broker: Broker, tmp_path: Path) -> None:
    brokers = Brokers(broker.open, "access.")
    credentials: dict[str, Any] = {"username": USER, "password": PASSWORD}
    plain = {**credentials, "servers": broker.sasl, "security": "sasl_plaintext"}
    tls = {**credentials, "servers": broker.tls, "security": "sasl_ssl", "ca_file": broker.ca_file}
    with brokers.topic("urls.admitted") as admitted:
        for number, access in enumerate((plain, tls), 1):
            instance = Instance(brokers, tmp_path, **access).start().await_ready()
            brokers.put("seeds", f"http://example.org/{number}".encode())
            assert len(admitted.at_least(number)) == number
            instance.stop()
            assert not instance.failure
