"""Temporary and permanent errors of Kafka."""

import pytest
from confluent_kafka import KafkaError

from gossamer.errors import Unavailable
from gossamer.log.kafka.client import ConnectionErrors, client_config
from gossamer.settings.servers import KafkaSettings


@pytest.mark.parametrize(
    "name", ["_TRANSPORT", "_TIMED_OUT", "NOT_ENOUGH_REPLICAS", "_DESTROY_BROKER"]
)
def test_unreachable_broker_raises_unavailable(name: str) -> None:
    error = KafkaError(getattr(KafkaError, name))
    assert isinstance(ConnectionErrors("host:1").translate_error(error), Unavailable)


@pytest.mark.parametrize(("service", "client"), [("fetcher", "gossamer-fetcher"), ("", "gossamer")])
def test_brokers_see_the_service_and_the_zone_of_a_client(service: str, client: str) -> None:
    settings = KafkaSettings(servers="host:1", rack="zone-a")
    made = client_config(settings, ConnectionErrors(settings.servers), service)
    assert (made["client.id"], made["client.rack"]) == (client, "zone-a")


def test_socket_timeout_leaves_time_for_another_broker() -> None:
    """A vanished broker refuses no connection, so only a timeout detects it."""
    settings = KafkaSettings(servers="host:1", timeout=30.0)
    asked = client_config(settings, ConnectionErrors(settings.servers))
    for name in ("socket.timeout.ms", "socket.connection.setup.timeout.ms"):
        assert asked[name] * 3 <= settings.timeout * 1000
