"""Settings of a fleet: which Kafka and Cassandra, how to prove who we are, and where we listen.

Secrets come from the environment, or from the files that an orchestrator mounts; there is no
default, and nothing prints them.
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
"""Stands in the documentation where the default depends on the machine."""


class Access(Section):
    """What both servers ask of a client."""

    username: Name = ""
    """Who we are to the servers; empty: they do not ask."""
    password: SecretStr = SecretStr("")
    """The user's password; better in a file, since others may see a process's environment."""
    password_file: Path | None = None
    """A file whose first line is the password; it may change while a process runs."""
    ca_file: Path | None = None
    """The authority (PEM) that signs the servers' certificates; without it, those of the system."""
    cert_file: Path | None = None
    """Our own certificate (PEM), if the servers want one; with `key_file`."""
    key_file: Path | None = None
    """The private key (PEM) of `cert_file`."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.password_file and self.password.get_secret_value():
            raise ValueError("password and password_file exclude each other")
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file belong together")
        for file in (self.password_file, self.ca_file, self.cert_file, self.key_file):
            if file and not file.is_file():
                raise ValueError(f"{file} is no file")
        return self

    def secret(self) -> str:
        """Return the password, read anew: it may have been changed in its file."""
        if self.password_file:
            return self.password_file.read_text(encoding="utf-8").split("\n", 1)[0].strip()
        return self.password.get_secret_value()


class KafkaSettings(Access):
    """The log of a fleet."""

    servers: Annotated[str, unit("`HOST:PORT`, several with commas")] = ""
    """Brokers to connect to first. Set, it also makes `gossamer` speak to the fleet; empty:
    everything is embedded."""
    prefix: Annotated[Name, Field(pattern=r"^([a-z0-9-]+\.)?$")] = ""
    """Put before the names of topics and groups where others use the brokers too; ends with a dot:
    `crawl.`"""
    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    """Whether connections are encrypted (`ssl`), and whether we log in (`sasl`)."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """How we log in, where `security` is one of `sasl`."""
    session: Annotated[Seconds, Field(ge=6.0, le=300.0)] = 10.0
    """After this long without a sign of life, a member's partitions go to others."""
    partitions: Annotated[Positive | None, unit("partitions")] = None
    """Of every topic that is keyed by site, when `gossamer topics apply` makes it; unset: what
    `schemas/topics` says. It divides 96, and `gossamer topics resize` changes it later."""
    replication: Annotated[Positive | None, unit("copies")] = None
    """Copies of every topic, when `gossamer topics apply` makes it; unset: what `schemas/topics`
    says."""
    replay_window: SecondsOrZero = 86400.0
    """How long the records of `urls.admitted`, `visits.ended` and `pages.judged` stay after they
    were read. A store that was restored from a backup of that age reads them once more, and loses
    nothing; `gossamer restore` says how. 0: they go at once."""
    timeout: Seconds = 30.0
    """How long an append may wait for the brokers."""
    further_groups: Annotated[tuple[Name, ...], unit("list of names")] = ()
    """Consumer groups of other programs, by their full names, that must have read a fetched page
    before it is deleted. Fetchers wait for them as they wait for parser and archive: a group that
    never commits an offset stops the crawl. Every process needs the same list."""

    @model_validator(mode="after")
    def _has_credentials(self) -> Self:
        if self.security.startswith("sasl") and not (self.username and self.secret()):
            raise ValueError(f"security {self.security} needs username, and password or its file")
        if self.username and not self.security.startswith("sasl"):
            raise ValueError(f"a username says nothing under security {self.security}")
        return self


class CassandraSettings(Access):
    """The store of a fleet."""

    hosts: Annotated[tuple[str, ...], unit("list of names or addresses")] = ()
    """Nodes to connect to first; empty: everything is embedded."""
    port: Port = 9042
    """Where every node listens for CQL."""
    keyspace: Annotated[Name, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")] = "gossamer"
    """The keyspace of the tables, which `gossamer store apply` makes."""
    datacenter: Name = "datacenter1"
    """The data centre whose nodes are asked, and that the keyspace is replicated in."""
    replication: Annotated[Positive, unit("copies")] = 1
    """Copies in that data centre, when `gossamer store apply` makes the keyspace."""
    consistency: Literal["ONE", "LOCAL_ONE", "LOCAL_QUORUM", "QUORUM", "ALL"] = "LOCAL_QUORUM"
    """How many copies must answer a read or a write. `ONE` and `LOCAL_ONE` are refused where there
    is more than one copy, `LOCAL_QUORUM` where several data centres have copies: what was written
    could not be relied on."""
    tls: bool = False
    """Whether connections are encrypted; `ca_file` or `cert_file` turn it on as well."""
    timeout: Seconds = 10.0
    """How long a request may take."""


class ServiceSettings(Section):
    """One process of a fleet."""

    instance: Annotated[Name, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(
        default_factory=lambda: socket.gethostname() or "one",
        json_schema_extra={"default_is": BY_MACHINE},
    )
    """The process's name among those of its kind: a host's or a pod's. It must be the same after a
    restart, and no two may share it."""
    address: Address = "0.0.0.0"
    """Where /healthz, /readyz and /metrics are answered; `0.0.0.0`: on every address."""
    port: PortOrZero = 8080
    """The port of these; 0: any free one, named in the log."""
    step_limit: Annotated[Seconds, Field(ge=0.05, le=60.0)] = 1.0
    """How long one step of a loop may take: it takes fewer records the longer they last. A process
    whose loop has not turned for a minute, or 60 times as long, counts as stuck; five times later
    Kafka gives its partitions to others (`max.poll.interval.ms`)."""

    @property
    def stuck_after(self) -> float:
        """Seconds without a turn of its loop after which a process counts as stuck.

        Long enough for one event that the limit cannot cut, and for a server that hesitates.
        """
        return 60 * max(1.0, self.step_limit)

    @property
    def poll_limit(self) -> float:
        """Seconds without a poll after which a group gives a member's partitions to others.

        A minute of probes after it counts as stuck, the orchestrator has ended it long before.
        """
        return 5 * self.stuck_after
