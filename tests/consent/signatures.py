"""Verification of Web Bot Auth signatures at the server, by an implementation that is not ours.

`http-message-signatures` verifies the signature (RFC 9421). The requirements of
draft-meunier-webbotauth-httpsig-protocol-00 are verified here: covered components, `expires`, a
`keyid` that is the thumbprint of the key (RFC 7638, RFC 8037), the tag, and a Signature-Agent.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
)
from http_message_signatures.algorithms import ED25519

TAG = "web-bot-auth"
MAX_LIFETIME = 24 * 3600
"""Seconds between `created` and `expires`, at most (recommended)."""
SIGNED = "signed"
"""The note on a request with a valid signature."""
BAD = "bad signature: "
"""The start of the note on a request with an invalid signature."""


@dataclass(frozen=True)
class Message:
    """A request as the library reads it."""

    method: str
    url: str
    headers: Mapping[str, str]


class _Keys(HTTPSignatureKeyResolver):
    def __init__(self, key: Ed25519PublicKey) -> None:
        self._keys = {thumbprint(key): key}

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey | None:
        return self._keys.get(key_id)


class SignatureCheck:
    """Verifies signatures by one key."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._verifier = HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=_Keys(key))

    def note(self, message: Message) -> str:
        """Return the note on a request: empty without a signature, `SIGNED`, or `BAD` and the
        reason."""
        names = {name.lower() for name in message.headers}
        if not names & {"signature", "signature-input"}:
            return ""
        try:
            self._verify(message)
        except (HTTPMessageSignaturesException, ValueError) as error:
            return f"{BAD}{error}"
        return SIGNED

    def _verify(self, message: Message) -> None:
        (result,) = self._verifier.verify(message, expect_tag=TAG)
        covered = {name.partition(";")[0].strip('"') for name in result.covered_components}
        if not covered & {"@authority", "@target-uri"}:
            raise ValueError("neither @authority nor @target-uri is covered")
        if "signature-agent" not in covered:
            raise ValueError("the signature-agent is not covered")
        created, expires = (int(result.parameters.get(name, 0)) for name in ("created", "expires"))
        if not 0 < expires - created <= MAX_LIFETIME:
            raise ValueError("the signature has no lifetime, or a long one")
        agent = message.headers["signature-agent"]
        if "https://" not in agent and "http://" not in agent:
            raise ValueError("the signature-agent is not a URL")


def thumbprint(key: Ed25519PublicKey) -> str:
    """Return the JWK thumbprint of *key*."""
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    jwk = {"crv": "Ed25519", "kty": "OKP", "x": _base64(raw)}
    return _base64(sha256(json.dumps(jwk, separators=(",", ":")).encode()).digest())


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
