"""Queries the brokers about themselves and about consumer groups, for diagnostics."""

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)

from gossamer.log.kafka.client import ConnectionErrors, client_config, error_of, retry
from gossamer.settings.servers import KafkaSettings

PROTOCOL_VERSION = "inter.broker.protocol.version"
"""A setting of brokers up to Kafka 3.9. Brokers do not report their version to clients."""


class Brokers:
    """The brokers of *settings*. All methods raise Unavailable if they do not answer."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings, self._trouble = settings, ConnectionErrors(settings.servers)
        self._admin: Any = AdminClient(client_config(settings, self._trouble))

    def old_version(self) -> str | None:
        """Return the version of brokers older than Kafka 4, such as `3.9-IV0`, or None.

        Raise GossamerError if this user may not read the settings of brokers.
        """

        def ask() -> str | None:
            found = self._admin.list_topics(timeout=self._settings.timeout)
            broker = ConfigResource(ResourceType.BROKER, str(min(found.brokers)))
            asked = self._admin.describe_configs([broker], request_timeout=self._settings.timeout)
            version = asked[broker].result().get(PROTOCOL_VERSION)
            return version and str(version.value)

        return retry(ask, self._trouble, self._settings.timeout)

    def members(self, groups: Sequence[str]) -> Mapping[str, int]:
        """Return the number of members of each group, by the group's full name."""

        def ask() -> Mapping[str, int]:
            asked = self._admin.describe_consumer_groups(
                [*groups], request_timeout=self._settings.timeout
            )
            return {group: _count(described) for group, described in asked.items()}

        return retry(ask, self._trouble, self._settings.timeout)


def _count(described: Any) -> int:
    try:
        return len(described.result().members)
    except KafkaException as failure:
        if error_of(failure).code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise
        return 0  # The group has never had a member.
