"""Verification at the server: what it admits, and what it refuses."""

import time
from base64 import urlsafe_b64decode
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519

from tests.consent.signatures import SIGNED, TAG, Message, SignatureCheck, thumbprint

KEY = Ed25519PrivateKey.generate()
KEY_ID = thumbprint(KEY.public_key())
CHECK = SignatureCheck(KEY.public_key())
COVERED = ('"@authority"', '"signature-agent";key="sig1"')
URL = "http://shop.test:8080/page?a=1"


def signed(
    key: Ed25519PrivateKey = KEY, covered: tuple[str, ...] = COVERED, **more: Any
) -> dict[str, str]:
    """Return the headers of a signed request."""
    headers = {"host": "shop.test:8080", "signature-agent": 'sig1="https://bot.example"'}
    keys = MappingKeyResolver(public_keys={}, private_keys={KEY_ID: key})
    signer = HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=keys)
    now = time.time()
    fields = {"tag": TAG, "created": _at(now), "expires": _at(now + 300), **more}
    message = Message("GET", URL, headers)
    signer.sign(message, key_id=KEY_ID, label="sig1", covered_component_ids=covered, **fields)
    return {name.lower(): value for name, value in headers.items()}


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def note(headers: dict[str, str], url: str = URL) -> str:
    return CHECK.note(Message("GET", url, headers))


def test_signed_request_is_admitted_and_unsigned_request_has_no_note() -> None:
    assert note(signed()) == SIGNED
    assert note({"host": "shop.test:8080"}) == ""


@pytest.mark.parametrize(
    "more",
    [
        {"tag": "other"},
        {"expires": -60},
        {"created": 600},
        {"expires": None},
        {"expires": 3 * 86400},
        {"covered": ('"@authority"',)},
        {"covered": ('"@method"', '"signature-agent";key="sig1"')},
    ],
)
def test_signature_with_wrong_parameters_is_refused(more: dict[str, Any]) -> None:
    now = time.time()
    times = {name: _at(now + more[name]) for name in more if isinstance(more[name], int)}
    assert note(signed(**{**more, **times})).startswith("bad signature")


def test_changed_signature_or_one_of_another_key_or_host_is_refused() -> None:
    headers = signed()
    assert note(headers, "http://other.test:8080/page").startswith("bad signature")
    assert note(signed(Ed25519PrivateKey.generate())).startswith("bad signature")
    assert note({**headers, "signature-agent": 'sig1="https://x.example"'}).startswith("bad")
    del headers["signature"]
    assert note(headers).startswith("bad signature")


def test_thumbprint_is_that_of_rfc_8037() -> None:
    raw = urlsafe_b64decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=")
    key = Ed25519PublicKey.from_public_bytes(raw)
    assert thumbprint(key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
