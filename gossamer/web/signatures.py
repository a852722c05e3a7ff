"""Signs requests so that sites recognise the crawler: Web Bot Auth.

A request has a signature (RFC 9421, HTTP Message Signatures) by an Ed25519 key of ours. The header
`Signature-Agent` names the origin where our public keys are published, at
`/.well-known/http-message-signatures-directory`. The profile is
draft-meunier-webbotauth-httpsig-protocol:

- covered: the authority of the URL, and `Signature-Agent`
- parameters: `created`, `expires`, `keyid` (the thumbprint of the key, RFC 7638 and RFC 8037),
  `alg`, `nonce`, and `tag="web-bot-auth"`

The older draft-meunier-web-bot-auth-architecture had `Signature-Agent` as a string instead of a
dictionary, and many verifiers still read only the string: `AgentForm.STRING`.

The directory is signed, too: its response has one signature for each key, over the authority of the
request and over `Content-Digest` (appendix "Validating the Domain Binding" of the draft).
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from math import inf
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from gossamer.web.http import Headers, joined_values
from gossamer.web.signing import REQUEST_TAG, AgentForm, is_agent
from gossamer.web.structured import (
    BadField,
    Bare,
    InnerList,
    Item,
    parse_dictionary,
    serialize,
    serialize_item,
)
from gossamer.web.url import host_key

LABEL = "sig1"
"""The name of our signature, and of its entry in `Signature-Agent`."""
DIRECTORY_TAG = "http-message-signatures-directory"
DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
ALGORITHM = "ed25519"
VALIDITY_SECONDS = 300
"""Seconds for which the signature of a request is valid. The draft recommends at most a day; a
short time limits how long a copied signature can be used, and tolerates wrong clocks."""


class BadKey(ValueError):
    """A key cannot be read; the text says why and contains no part of the key."""


class BadSignature(ValueError):
    """A signature is missing or invalid; the text says why."""


class PublicKey:
    """An Ed25519 public key, named by its thumbprint."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self.key = key

    @cached_property
    def x(self) -> str:
        """The key as in a JWK."""
        return _base64url(self.key.public_bytes_raw())

    @cached_property
    def thumbprint(self) -> str:
        """The SHA-256 thumbprint of the JWK (RFC 7638; RFC 8037, appendix A.3)."""
        text = f'{{"crv":"Ed25519","kty":"OKP","x":"{self.x}"}}'
        return _base64url(sha256(text.encode()).digest())


class SigningKey:
    """An Ed25519 private key, and the time in which it signs. Its repr shows no secret."""

    def __init__(
        self, key: Ed25519PrivateKey, not_before: float = -inf, expires_at: float = inf
    ) -> None:
        self._key, self.not_before, self.expires_at = key, not_before, expires_at
        self.public = PublicKey(key.public_key())

    def __repr__(self) -> str:
        return f"SigningKey({self.thumbprint})"

    @classmethod
    def generate(cls) -> "SigningKey":
        """Return a new key."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def thumbprint(self) -> str:
        """The thumbprint, which names the key in each signature."""
        return self.public.thumbprint

    def is_valid(self, now: float) -> bool:
        """Return whether the key may sign now."""
        return self.not_before <= now < self.expires_at

    def sign(self, data: bytes) -> bytes:
        """Return the signature of *data*."""
        return self._key.sign(data)

    def private_jwk(self) -> dict[str, str | int]:
        """Return the private key as a JWK, for a file that only its owner may read."""
        return self.public_jwk() | {"d": _base64url(self._key.private_bytes_raw())}

    def public_jwk(self) -> dict[str, str | int]:
        """Return the public key as it is published in the directory."""
        jwk: dict[str, str | int] = {
            "kty": "OKP",
            "crv": "Ed25519",
            "kid": self.thumbprint,
            "x": self.public.x,
            "use": "sig",
        }
        times = (("nbf", self.not_before), ("exp", self.expires_at))
        return jwk | {name: int(at) for name, at in times if abs(at) != inf}


def parse_keys(data: bytes) -> list[SigningKey]:
    """Parse private keys: PEM, a JWK, or a JWK set; raise BadKey.

    `nbf` and `exp` of a JWK limit the time in which the key signs.
    """
    if b"-----BEGIN" in data:
        return [_parse_pem(data)]
    try:
        found = json.loads(data)
    except ValueError:
        raise BadKey("neither PEM nor JSON") from None
    if not isinstance(found, dict):
        raise BadKey("not a JWK or a JWK set")
    keys = found.get("keys", [found])
    if not isinstance(keys, list) or not keys:
        raise BadKey("the JWK set has no keys")
    return [_parse_jwk(jwk) for jwk in keys]


def _parse_pem(data: bytes) -> SigningKey:
    try:
        key = load_pem_private_key(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadKey("not a private key without a passphrase") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey("not an Ed25519 key")
    return SigningKey(key)


def _parse_jwk(jwk: Any) -> SigningKey:
    if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519"):
        raise BadKey("not an Ed25519 key")
    try:
        key = SigningKey(
            Ed25519PrivateKey.from_private_bytes(_from_base64url(jwk["d"])),
            float(jwk.get("nbf", -inf)),
            float(jwk.get("exp", inf)),
        )
    except (ValueError, TypeError, KeyError):
        raise BadKey("not a private JWK") from None
    if "x" in jwk and jwk["x"] != key.public.x:
        raise BadKey("the public part of the JWK belongs to another key")
    return key


def parse_public_keys(data: bytes) -> list[tuple[PublicKey, dict[str, Any]]]:
    """Parse the Ed25519 keys of a directory, each with its JWK; raise BadKey.

    Keys of other kinds are skipped.
    """
    try:
        found = json.loads(data)
        keys = found["keys"]
        jwks = [
            jwk for jwk in keys if isinstance(jwk, dict) and jwk.get("crv", "Ed25519") == "Ed25519"
        ]
        return [
            (PublicKey(Ed25519PublicKey.from_public_bytes(_from_base64url(jwk["x"]))), jwk)
            for jwk in jwks
            if jwk.get("kty") == "OKP"
        ]
    except (ValueError, TypeError, KeyError):
        raise BadKey("not a JWK set of public keys") from None


def choose_key(keys: Iterable[SigningKey], now: float) -> SigningKey | None:
    """Return the key that signs now: the valid one that became valid last, of several the last.

    None if no key is valid.
    """
    valid = [key for key in keys if key.is_valid(now)]
    return max(reversed(valid), key=lambda key: key.not_before, default=None)


def authority_of(url: str) -> str:
    """Return the authority of a canonical *url* as signatures cover it: in lower case, without a
    default port (RFC 9421, 2.2.3)."""
    return host_key(url).partition("://")[2]


def sign_request(
    url: str,
    key: SigningKey,
    agent: str,
    form: AgentForm,
    now: float,
    nonce: str,
) -> Headers:
    """Return the headers that sign a request for a canonical *url*.

    *agent* is the origin of our directory, *nonce* a text that no other signature has.
    """
    created, quoted = int(now), serialize_item(agent)
    component, value = '"signature-agent"', quoted
    if form is AgentForm.DICTIONARY:
        component, value = f'{component};key="{LABEL}"', f"{LABEL}={quoted}"
    params = (
        f'("@authority" {component});created={created};keyid="{key.thumbprint}"'
        f';alg="{ALGORITHM}";expires={created + VALIDITY_SECONDS};nonce="{nonce}"'
        f';tag="{REQUEST_TAG}"'
    )
    base = (
        f'"@authority": {authority_of(url)}\n{component}: {quoted}\n"@signature-params": {params}'
    )
    return (
        ("Signature-Agent", value),
        ("Signature-Input", f"{LABEL}={params}"),
        ("Signature", f"{LABEL}={serialize_item(key.sign(base.encode()))}"),
    )


def make_directory(keys: Sequence[SigningKey]) -> bytes:
    """Return the body of the directory: the public part of all *keys*."""
    return json.dumps({"keys": [key.public_jwk() for key in keys]}, separators=(",", ":")).encode()


def digest_header(body: bytes) -> str:
    """Return the Content-Digest of *body* (RFC 9530)."""
    return f"sha-256={serialize_item(sha256(body).digest())}"


def sign_directory(
    authority: str, body: bytes, keys: Sequence[SigningKey], now: float, validity: float
) -> Headers:
    """Return the headers of the response with the directory *body*, with a signature of each key.

    *authority* is the name under which the directory is published, *validity* is in seconds.
    """
    digest, created = digest_header(body), int(now)
    inputs, signatures = list[str](), list[str]()
    for number, key in enumerate(keys, 1):
        label = f"binding{number}"
        params = (
            f'("@authority";req "content-digest");created={created};'
            f'keyid="{key.thumbprint}";alg="{ALGORITHM}";expires={created + int(validity)}'
            f';tag="{DIRECTORY_TAG}"'
        )
        base = (
            f'"@authority";req: {authority}\n"content-digest": {digest}\n'
            f'"@signature-params": {params}'
        )
        inputs.append(f"{label}={params}")
        signatures.append(f"{label}={serialize_item(key.sign(base.encode()))}")
    return (
        ("Content-Type", DIRECTORY_TYPE),
        ("Content-Digest", digest),
        ("Signature-Input", ", ".join(inputs)),
        ("Signature", ", ".join(signatures)),
    )


def signature_base(covered: InnerList, headers: Headers, url: str) -> bytes:
    """Return the bytes that a signature with these *covered* components signs (RFC 9421, 2.5).

    Raise BadSignature if a component is missing, unknown or repeated. *url* is the URL of the
    request, *headers* belong to the signed message.
    """
    lines, seen = list[str](), set[tuple[object, ...]]()
    for item in covered.items:
        identity = (item.value, *sorted(item.params.items(), key=lambda param: param[0]))
        if identity in seen:
            raise BadSignature(f"{item.value!r} is covered twice")
        seen.add(identity)
        lines.append(f"{serialize(item)}: {_component(item, headers, url)}")
    lines.append(f'"@signature-params": {serialize(covered)}')
    return "\n".join(lines).encode()


def _component(item: Item, headers: Headers, url: str) -> str:
    name, params = item.value, dict(item.params)
    if name == "@authority":
        params.pop("req", None)
        if params:
            raise BadSignature("@authority has unknown parameters")
        return authority_of(url)
    if not isinstance(name, str) or name.startswith("@") or name != name.lower():
        raise BadSignature(f"the component {name!r} is not known")
    value = joined_values(headers, name)
    if not any(key.lower() == name for key, _ in headers):
        raise BadSignature(f"the header {name} is missing")
    if not params:
        return value
    key = params.pop("key", None)
    if params or not isinstance(key, str):
        raise BadSignature(f"{name} has unknown parameters")
    member = _dictionary(value, name).get(key)
    if member is None:
        raise BadSignature(f"the header {name} has no entry {key}")
    return serialize(member)


def _dictionary(value: str, name: str) -> Mapping[str, Item | InnerList]:
    try:
        return parse_dictionary(value)
    except BadField as error:
        raise BadSignature(f"{name}: {error}") from error


def verify_signature(
    headers: Headers, url: str, keys: Iterable[PublicKey], tag: str, now: float
) -> list[str]:
    """Return the thumbprints of the *keys* that signed the message with *headers*.

    *url* is the URL of the request. Raise BadSignature if no signature has the *tag*, or if one of
    those with the tag is invalid: expired, of the future, of an unknown key, or of other content.
    """
    inputs = _dictionary(joined_values(headers, "signature-input"), "signature-input")
    values = _dictionary(joined_values(headers, "signature"), "signature")
    by_name = {key.thumbprint: key for key in keys}
    found = [
        _verify(label, covered, values, by_name, headers, url, now)
        for label, covered in inputs.items()
        if isinstance(covered, InnerList) and covered.params.get("tag") == tag
    ]
    if not found:
        raise BadSignature(f"no signature has the tag {tag}")
    return found


def _verify(
    label: str,
    covered: InnerList,
    values: Mapping[str, Item | InnerList],
    keys: Mapping[str, PublicKey],
    headers: Headers,
    url: str,
    now: float,
) -> str:
    params, value = covered.params, values.get(label)
    if not isinstance(value, Item) or not isinstance(value.value, bytes):
        raise BadSignature(f"{label} has no signature")
    created, expires = _time(params, "created"), _time(params, "expires")
    if created > now + 1:
        raise BadSignature("created lies in the future")
    if expires <= now:
        raise BadSignature("the signature has expired")
    if params.get("alg", ALGORITHM) != ALGORITHM:
        raise BadSignature(f"the algorithm is not {ALGORITHM}")
    key = keys.get(str(params.get("keyid")))
    if key is None:
        raise BadSignature("the key is not known")
    if not any(item.value == "@authority" for item in covered.items):
        raise BadSignature("the authority is not covered")
    _check_agent(label, covered, headers)
    try:
        key.key.verify(value.value, signature_base(covered, headers, url))
    except InvalidSignature:
        raise BadSignature("the signature does not match") from None
    return key.thumbprint


def _check_agent(label: str, covered: InnerList, headers: Headers) -> None:
    """Raise BadSignature unless a `Signature-Agent` is covered, and is an origin with https."""
    value = joined_values(headers, "signature-agent")
    if not value:
        return
    agents = [item for item in covered.items if item.value == "signature-agent"]
    if not agents:
        raise BadSignature("signature-agent is not covered")
    text: Bare | None = value[1:-1]
    if not value.startswith('"'):
        member = _dictionary(value, "signature-agent").get(str(agents[0].params.get("key", label)))
        text = member.value if isinstance(member, Item) else None
    if not is_agent(text if isinstance(text, str) else ""):
        raise BadSignature("signature-agent is not an origin with https")


def _time(params: Mapping[str, Bare], name: str) -> int:
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadSignature(f"{name} is missing")
    return value


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64url(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
