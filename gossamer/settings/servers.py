"""Settings of a fleet: Kafka and Cassandra, credentials, and the addresses of the services.

Secrets come from the environment, or from files that an orchestrator mounts. They have no defaults
and are never printed.
"""

import socket
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from gossamer.settings.units import (
    Address,
    Name,
    Port,
    PortOrZero,
    Positive,
    Seconds,
    SecondsOrZero,
    Section,
    unit,
)

BY_MACHINE = "the machine's host name"
"""The documented default of a setting whose default depends on the machine."""


class Access(Section):
    """The credentials of a client of Kafka or Cassandra."""

    username: Name = ""
    """The user name at the servers. Empty means that the servers need no login."""
    password: SecretStr = SecretStr("")
    """The user's password. `password_file` is safer, because other users may see the environment of
    a process."""
    password_file: Path | None = None
    """A file whose first line is the password. It may change while a process runs."""
    ca_file: Path | None = None
    """The certificate authority (PEM) that signs the servers' certificates. Without it, the
    authorities of the system are trusted."""
    cert_file: Path | None = None
    """The client certificate (PEM), if the servers require one. It needs `key_file`."""
    key_file: Path | None = None
    """The private key (PEM) of `cert_file`."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.password_file and self.password.get_secret_value():
            raise ValueError("password and password_file exclude each other")
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file belong together")
        for file in (self.password_file, self.ca_file, self.cert_file, self.key_file):
            if file and not file.is_file():
                raise ValueError(f"{file} is not a file")
        return self

    def secret(self) -> str:
        """Return the password, and read its file again because the password may have changed."""
        if self.password_file:
            return self.password_file.read_text(encoding="utf-8").split("\n", 1)[0].strip()
        return self.password.get_secret_value()


class KafkaSettings(Access):
    """The log of a fleet."""

    servers: Annotated[str, unit("`HOST:PORT`, several with commas")] = ""
    """Bootstrap brokers. If this is set, `gossamer` also talks to the fleet. Empty means that the
    crawl is embedded."""
    prefix: Annotated[Name, Field(pattern=r"^([a-z0-9-]+\.)?$")] = ""
    """Prefix of the names of topics and consumer groups on shared brokers. It ends with a dot:
    `crawl.`"""
    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    """The security protocol: whether connections are encrypted (`ssl`) and clients log in
    (`sasl`)."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """The SASL mechanism, if `security` is one of `sasl`."""
    session: Annotated[Seconds, Field(ge=6.0, le=300.0)] = 60.0
    """Session timeout of consumer groups. The partitions of a member that sends no heartbeat for
    this long are assigned to other members. A process that returns under its name before then gets
    its own partitions back: long enough for a pod with its image and volume."""
    rack: Annotated[str, unit("name of a zone")] = ""
    """The zone of this process, as `broker.rack` names it for the brokers there. Consumers read
    from a replica in their zone, if the brokers allow that (`replica.selector.class`): traffic
    between zones costs money."""
    partitions: Annotated[Positive | None, unit("partitions")] = None
    """Number of partitions of each topic that is keyed by site, for `gossamer topics apply`. If it
    is not set, `schemas/topics` states the number. It must divide 96. `gossamer topics resize`
    changes it later."""
    replication: Annotated[Positive | None, unit("copies")] = None
    """Replication factor of each topic, for `gossamer topics apply`. If it is not set,
    `schemas/topics` states it."""
    replay_window: SecondsOrZero = 86400.0
    """How long consumed records of `urls.admitted`, `visits.ended` and `pages.deduplicated` are
    retained. A store that was restored from a backup of this age consumes them again and loses
    nothing (`gossamer restore`). 0 deletes them at once."""
    timeout: Seconds = 30.0
    """Maximum time for an append to the brokers."""
    further_groups: Annotated[tuple[Name, ...], unit("list of names")] = ()
    """Full names of consumer groups of other programs that must consume a fetched page before it is
    deleted. Fetchers wait for these groups as they wait for the parser and the archive. A group
    that never commits an offset stops the crawl. Every process needs the same list."""

    @model_validator(mode="after")
    def _has_credentials(self) -> Self:
        if self.security.startswith("sasl") and not (self.username and self.secret()):
            raise ValueError(
                f"security {self.security} needs username, and password or password_file"
            )
        if self.username and not self.security.startswith("sasl"):
            raise ValueError(f"security {self.security} does not use a username")
        return self


class CassandraSettings(Access):
    """The store of a fleet."""

    hosts: Annotated[tuple[str, ...], unit("list of names or addresses")] = ()
    """Contact points of the cluster. Empty means that the crawl is embedded."""
    port: Port = 9042
    """The CQL port of every node."""
    keyspace: Annotated[Name, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")] = "gossamer"
    """The keyspace of the tables, which `gossamer store apply` creates."""
    datacenter: Name = "datacenter1"
    """The data centre whose nodes are contacted, and in which the keyspace is replicated."""
    replication: Annotated[Positive, unit("copies")] = 1
    """Replication factor in the data centre, when `gossamer store apply` creates the keyspace."""
    consistency: Literal["ONE", "LOCAL_ONE", "LOCAL_QUORUM", "QUORUM", "ALL"] = "LOCAL_QUORUM"
    """Consistency level of reads and writes. `ONE` and `LOCAL_ONE` are refused with a replication
    factor above 1, and `LOCAL_QUORUM` with replicas in several data centres, because a read could
    then miss an acknowledged write."""
    tls: bool = False
    """Whether connections are encrypted. `ca_file` or `cert_file` also turns it on."""
    timeout: Seconds = 10.0
    """Maximum time for a request."""


class ServiceSettings(Section):
    """One process of a fleet."""

    instance: Annotated[Name, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(
        default_factory=lambda: socket.gethostname() or "one",
        json_schema_extra={"default_is": BY_MACHINE},
    )
    """The name of the process among the processes of its service, such as a host's or a pod's. It
    must stay the same after a restart, and no two processes may share it."""
    address: Address = "0.0.0.0"
    """Address that serves /healthz, /readyz and /metrics. `0.0.0.0` means every address."""
    port: PortOrZero = 8080
    """Port that serves /healthz, /readyz and /metrics. 0 means any free port, which is logged."""
    step_limit: Annotated[Seconds, Field(ge=0.05, le=60.0)] = 1.0
    """Maximum duration of one step of a service's loop. A step handles fewer records if records
    take longer. A process counts as stuck if its loop has not completed a step for 60 times this
    limit, and at least for a minute. After five times that, Kafka assigns its partitions to other
    members (`max.poll.interval.ms`)."""

    @property
    def stuck_after(self) -> float:
        """Seconds without a completed step after which a process counts as stuck.

        It leaves time for one long event, which the limit cannot interrupt, and for a slow server.
        """
        return 60 * max(1.0, self.step_limit)

    @property
    def poll_limit(self) -> float:
        """Seconds without a poll after which a group assigns a member's partitions to other
        members.

        An orchestrator restarts a process after a minute of failed probes, long before this limit.
        """
        return 5 * self.stuck_after
