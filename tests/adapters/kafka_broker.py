"""Topics of one test, and a Kafka of one test, which may be killed, and which authenticates its
clients.

The latter has an open listener, one with passwords, and one with passwords under TLS.
"""

from pathlib import Path
from uuid import uuid4

import trustme
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from gossamer.log.kafka.topics import Topics
from gossamer.settings.servers import KafkaSettings
from tests.servers import Server, free_ports

USER, PASSWORD = "gossamer", "a secret, with spaces"
LOGIN = "org.apache.kafka.common.security"
EXTRA = """
listeners=PLAINTEXT://127.0.0.1:{open},CONTROLLER://127.0.0.1:{controller},\
SASL://127.0.0.1:{sasl},TLS://127.0.0.1:{tls}
advertised.listeners=PLAINTEXT://127.0.0.1:{open},SASL://127.0.0.1:{sasl},TLS://127.0.0.1:{tls}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SASL_SSL
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl.plain.sasl.jaas.config={login}.plain.PlainLoginModule required \
user_{user}="{password}";
listener.name.sasl.scram-sha-512.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.tls.scram-sha-512.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.tls.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.tls.ssl.keystore.type=PEM
listener.name.tls.ssl.keystore.location={keys}
"""


def own_topics(servers: str, **what: object) -> KafkaSettings:
    """Create topics for one test on shared *servers*, and return their settings."""
    given = {"servers": servers, "prefix": f"t{uuid4().hex[:8]}.", "replication": 1, **what}
    settings = KafkaSettings.model_validate(given)
    list(Topics(settings).apply())
    return settings


def write_key(issued: trustme.LeafCert, path: Path) -> Path:
    """Write a key with its certificates, in the only format that Java reads; return *path*."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(text + b"".join(part.bytes() for part in issued.cert_chain_pems))
    return path


class Broker:
    """The server, its listeners, and the authority of its certificate."""

    def __init__(self, data: Path) -> None:
        self.server = Server("kafka", data)
        self.open = f"127.0.0.1:{self.server.port}"
        self.sasl = f"127.0.0.1:{self.server.port + 2}"
        tls = free_ports(1)
        self.tls = f"127.0.0.1:{tls}"
        self.ca_file = data / "ca.pem"
        data.mkdir(parents=True)
        (data / "extra.properties").write_text(
            EXTRA.format(
                open=self.server.port,
                controller=self.server.port + 1,
                sasl=self.server.port + 2,
                tls=tls,
                login=LOGIN,
                user=USER,
                password=PASSWORD,
                keys=self._sign(data),
            )
        )

    def _sign(self, data: Path) -> Path:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.ca_file))
        return write_key(authority.issue_cert("127.0.0.1"), data / "server.pem")

    def start(self) -> None:
        """Start the server, and create the user."""
        self.server.start()
        admin = AdminClient({"bootstrap.servers": self.open})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        user = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
        for future in admin.alter_user_scram_credentials([user]).values():
            future.result(60)

    def settings(self, servers: str = "", **what: object) -> KafkaSettings:
        """Return settings of its topics, through the open listener by default."""
        usual = {"servers": servers or self.open, "partitions": 2, "replication": 1}
        return KafkaSettings.model_validate({**usual, **what})
