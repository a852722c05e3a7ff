"""Settings of a fleet: which Kafka and Cassandra, how to prove who we are, and where we listen.

Secrets come from the environment, or from the files that an orchestrator mounts; there is no
default, and nothing prints them.
"""

import socket
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    model_validator,
)

Port = Annotated[int, Field(ge=1, le=65535)]


class Section(BaseModel):
    """A table of the TOML file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False
    )


class Access(Section):
    """What both servers ask of a client."""

    username: str = ""
    password: SecretStr = SecretStr("")
    password_file: Path | None = None
    """A file whose first line is the password."""
    ca_file: Path | None = None
    """Who signs the server's certificate, if not an authority that the system knows."""
    cert_file: Path | None = None
    key_file: Path | None = None

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

    servers: str = ""
    """`HOST:PORT`, several with commas; empty: everything is embedded."""
    prefix: Annotated[str, Field(pattern=r"^([a-z0-9-]+\.)?$")] = ""
    """Put before the names of topics and groups, where others use the brokers too: `crawl.`"""
    security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    session: Annotated[float, Field(ge=6.0, le=300.0)] = 10.0
    """Seconds after which a member that is not heard of has lost its partitions."""
    partitions: PositiveInt | None = None
    """Of every topic that is keyed by site, instead of what `schemas/topics` says."""
    replication: PositiveInt | None = None
    """Copies of every topic, instead of what `schemas/topics` says."""
    timeout: PositiveFloat = 30.0
    """How long an append may wait for the brokers."""

    @model_validator(mode="after")
    def _has_credentials(self) -> Self:
        if self.security.startswith("sasl") and not (self.username and self.secret()):
            raise ValueError(f"security {self.security} needs username, and password or its file")
        if self.username and not self.security.startswith("sasl"):
            raise ValueError(f"a username says nothing under security {self.security}")
        return self


class CassandraSettings(Access):
    """The store of a fleet."""

    hosts: tuple[str, ...] = ()
    """Names or addresses to begin with; empty: everything is embedded."""
    port: Port = 9042
    keyspace: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")] = "gossamer"
    datacenter: str = "datacenter1"
    """The data centre that is asked, and that the keyspace is replicated in."""
    replication: PositiveInt = 1
    """Copies in that data centre, when `gossamer store apply` makes the keyspace."""
    consistency: Literal["ONE", "LOCAL_ONE", "LOCAL_QUORUM", "QUORUM", "ALL"] = "LOCAL_QUORUM"
    tls: bool = False
    timeout: PositiveFloat = 10.0


class ServiceSettings(Section):
    """One process of a fleet."""

    instance: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = (
        socket.gethostname() or "one"
    )
    """Its name among those of its kind, the same after a restart: a host's or a pod's."""
    address: str = "0.0.0.0"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Where /healthz, /readyz and /metrics are answered; 0: any free one, said in the log."""
