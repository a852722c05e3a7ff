"""Signatures of requests and of the directory: published vectors, an independent implementation,
and requests that must not verify."""

import datetime
import json
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from http_message_signatures import (
    HTTPMessageSigner,
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    algorithms,
)
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.http import Headers
from gossamer.web.signatures import (
    DIRECTORY_TAG,
    LABEL,
    VALIDITY_SECONDS,
    BadKey,
    BadSignature,
    PublicKey,
    SigningKey,
    choose_key,
    make_directory,
    parse_keys,
    parse_public_keys,
    sign_directory,
    sign_request,
    signature_base,
    verify_signature,
)
from gossamer.web.signing import REQUEST_TAG, AgentForm, asks_for_signature, is_agent
from gossamer.web.structured import InnerList, Item, parse_dictionary

DATA = Path(__file__).parents[1] / "data"
TEST_JWK = {
    "kty": "OKP",
    "crv": "Ed25519",
    "d": "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
    "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
}
"""The key of RFC 9421, appendix B.1.4."""
THUMBPRINT = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
[KEY] = parse_keys(json.dumps(TEST_JWK).encode())
URL, AGENT, NOW = "https://example.com/a?b", "https://signature-agent.test", 1_735_689_600.0
VECTORS = [
    (version, vector)
    for version in (1, 2)
    for vector in json.loads((DATA / f"web_bot_auth_architecture_v{version}.json").read_text())
]


def headers_of(vector: dict[str, Any]) -> Headers:
    agent = vector.get("signature_agent")
    return (
        ("Signature-Input", vector["signature_input"]),
        ("Signature", vector["signature"]),
        *((("Signature-Agent", agent),) if agent else ()),
    )


def rsa_key(jwk: dict[str, str]) -> rsa.RSAPublicKey:
    def number(name: str) -> int:
        return int.from_bytes(urlsafe_b64decode(jwk[name] + "=="))

    return rsa.RSAPublicNumbers(number("e"), number("n")).public_key()


@pytest.mark.parametrize(
    ("version", "vector"), VECTORS, ids=[f"v{v}-{x['key']['kty']}-{x['label']}" for v, x in VECTORS]
)
def test_published_vector_verifies(version: int, vector: dict[str, Any]) -> None:
    headers, url = headers_of(vector), vector["target_url"]
    if vector["key"]["kty"] == "OKP":
        [key] = parse_keys(json.dumps(vector["key"]).encode())
        now = vector["created_ms"] / 1000
        assert verify_signature(headers, url, [key.public], REQUEST_TAG, now) == [THUMBPRINT]
        with pytest.raises(BadSignature, match="expired"):
            verify_signature(headers, url, [key.public], REQUEST_TAG, vector["expires_ms"] / 1000)
        with pytest.raises(BadSignature, match="match"):
            verify_signature(headers, "https://example.org/", [key.public], REQUEST_TAG, now)
        return
    covered = parse_dictionary(vector["signature_input"])[vector["label"]]
    value = parse_dictionary(vector["signature"])[vector["label"]]
    assert isinstance(covered, InnerList) and isinstance(value, Item)
    assert isinstance(value.value, bytes)
    pss = padding.PSS(padding.MGF1(SHA512()), SHA512.digest_size)
    rsa_key(vector["key"]).verify(value.value, signature_base(covered, headers, url), pss, SHA512())


@pytest.mark.parametrize(
    "vector",
    # Our requests always name the agent.
    [x for v, x in VECTORS if v == 1 and x["key"]["kty"] == "OKP" and "signature_agent" in x],
)
def test_signer_reproduces_the_published_vector_in_the_string_form(vector: dict[str, Any]) -> None:
    signed = dict(
        sign_request(vector["target_url"], KEY, AGENT, AgentForm.STRING, NOW, vector["nonce"])
    )
    ours, theirs = (
        parse_dictionary(text).popitem()[1]
        for text in (signed["Signature-Input"], vector["signature_input"])
    )
    assert isinstance(ours, InnerList) and isinstance(theirs, InnerList)
    assert ours.items == theirs.items
    assert [*ours.params] == [*theirs.params]
    assert {**ours.params, "expires": 0} == {**theirs.params, "expires": 0}
    assert signed["Signature-Agent"] == vector["signature_agent"]


def test_thumbprint_is_that_of_the_drafts() -> None:
    assert KEY.thumbprint == THUMBPRINT


def test_directory_is_signed_as_in_the_draft() -> None:
    """The example "Signed Directory Response" of draft-meunier-webbotauth-httpsig-protocol."""
    body = (
        b'{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",'
        b'"x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}'
    )
    assert make_directory([KEY]) == body
    params = (
        '("@authority";req "content-digest");created=1735689600;expires=4889289600'
        f';keyid="{THUMBPRINT}";tag="http-message-signatures-directory"'
    )
    value = (
        "l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg=="
    )
    published: Headers = (
        ("Content-Digest", "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"),
        ("Signature-Input", f"binding={params}"),
        ("Signature", f"binding=:{value}:"),
    )
    ours = sign_directory("signature-agent.test", body, [KEY], NOW, 3600)
    assert dict(ours)["Content-Digest"] == dict(published)["Content-Digest"]
    [(public, _)] = parse_public_keys(body)
    for headers in (published, ours):
        found = verify_signature(headers, AGENT + "/", [public], DIRECTORY_TAG, NOW + 1)
        assert found == [THUMBPRINT]
    with pytest.raises(BadSignature):
        verify_signature(ours, "https://other.test/", [public], DIRECTORY_TAG, NOW + 1)


class Keys(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id: str) -> ed25519.Ed25519PublicKey:
        assert key_id == THUMBPRINT
        return KEY.public.key

    def resolve_private_key(self, key_id: str) -> ed25519.Ed25519PrivateKey:
        return ed25519.Ed25519PrivateKey.from_private_bytes(urlsafe_b64decode(TEST_JWK["d"] + "=="))


HOSTS = st.from_regex(r"[a-z][a-z0-9]{0,8}\.(example|test)(:[1-9][0-9]{3})?", fullmatch=True)


@given(
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.from_regex(r"/[a-z0-9/]{0,20}(%20)?(\?[a-z=&]{0,10})?", fullmatch=True),
    st.sampled_from(AgentForm),
    st.binary(min_size=8, max_size=64),
)
def test_independent_implementation_verifies_our_signature(
    scheme: str, host: str, path: str, form: AgentForm, nonce: bytes
) -> None:
    now = datetime.datetime.now(datetime.UTC).timestamp()
    url = f"{scheme}://{host}{path}"
    headers = sign_request(url, KEY, AGENT, form, now, b64encode(nonce).decode())
    request = SimpleNamespace(method="GET", url=url, headers={**dict(headers), "Host": host})
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    [found] = verifier.verify(request, expect_tag=REQUEST_TAG, max_age=datetime.timedelta(days=1))
    assert found.label == LABEL
    assert found.parameters["expires"] == int(now) + VALIDITY_SECONDS
    assert verify_signature(headers, url, [KEY.public], REQUEST_TAG, now) == [THUMBPRINT]


def test_our_verifier_accepts_an_independent_signature() -> None:
    now = datetime.datetime.now(datetime.UTC)
    request = SimpleNamespace(
        method="GET", url=URL, headers={"Host": "example.com", "Signature-Agent": f'sig1="{AGENT}"'}
    )
    signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    signer.sign(
        request,
        key_id=THUMBPRINT,
        created=now,
        expires=now + datetime.timedelta(minutes=1),
        label=LABEL,
        tag=REQUEST_TAG,
        covered_component_ids=("@authority", '"signature-agent";key="sig1"'),
    )
    headers = tuple(request.headers.items())
    assert verify_signature(headers, URL, [KEY.public], REQUEST_TAG, now.timestamp()) == [
        THUMBPRINT
    ]


def change(name: str, old: str, new: str) -> Callable[[Headers], Headers]:
    def changed(headers: Headers) -> Headers:
        assert any(key == name and old in value for key, value in headers)
        return tuple((k, v.replace(old, new) if k == name else v) for k, v in headers)

    return changed


def drop(name: str) -> Callable[[Headers], Headers]:
    return lambda headers: tuple(pair for pair in headers if pair[0] != name)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (drop("Signature"), "no signature"),
        (drop("Signature-Input"), "no signature has the tag"),
        (drop("Signature-Agent"), "missing"),
        (change("Signature-Input", ";created=1735689600", ""), "created is missing"),
        (change("Signature-Input", ";expires=1735689900", ""), "expires is missing"),
        (change("Signature-Input", "created=1735689600", "created=1735699600"), "future"),
        (change("Signature-Input", "expires=1735689900", "expires=1735689500"), "expired"),
        (change("Signature-Input", "expires=1735689900", "expires=1735699900"), "match"),
        (change("Signature-Input", 'keyid="p', 'keyid="q'), "key is not known"),
        (change("Signature-Input", "ed25519", "hmac-sha256"), "algorithm"),
        (change("Signature-Input", '"@authority" ', ""), "authority is not covered"),
        (change("Signature-Input", '"@authority" ', '"@authority" "@authority" '), "twice"),
        (change("Signature-Input", ' "signature-agent";key="sig1"', ""), "agent is not covered"),
        (change("Signature-Input", 'key="sig1"', 'key="sig2"'), "not an origin"),
        (change("Signature-Input", '"@authority" ', '"@authority" "date" '), "date is missing"),
        (change("Signature-Input", '"@authority"', '"@path"'), "authority is not covered"),
        (change("Signature-Input", "web-bot-auth", "other"), "no signature has the tag"),
        (change("Signature-Input", "(", "(("), "not a value"),
        (change("Signature", "sig1=:", "sig2=:"), "no signature"),
        (change("Signature", "sig1=:", "sig1=:AAAA"), "match"),
        (change("Signature-Agent", "https:", "http:"), "not an origin with https"),
        (change("Signature-Agent", ".test", ".test/keys.json"), "not an origin with https"),
        (change("Signature-Agent", "signature-agent", "other-agent"), "match"),
        (change("Signature-Agent", "sig1=", "=sig1"), "not a name"),
    ],
)
def test_faulty_request_does_not_verify(fault: Callable[[Headers], Headers], reason: str) -> None:
    signed = sign_request(URL, KEY, AGENT, AgentForm.DICTIONARY, NOW, "bm9uY2U=")
    assert verify_signature(signed, URL, [KEY.public], REQUEST_TAG, NOW) == [THUMBPRINT]
    with pytest.raises(BadSignature, match=reason):
        verify_signature(fault(signed), URL, [KEY.public], REQUEST_TAG, NOW)


def test_signature_of_another_key_or_for_another_host_does_not_verify() -> None:
    signed = sign_request(URL, KEY, AGENT, AgentForm.DICTIONARY, NOW, "bm9uY2U=")
    for url in ("https://example.com:8443/a", "https://www.example.com/a"):
        with pytest.raises(BadSignature, match="match"):
            verify_signature(signed, url, [KEY.public], REQUEST_TAG, NOW)
    other = PublicKey(SigningKey.generate().public.key)
    other.__dict__["thumbprint"] = THUMBPRINT
    with pytest.raises(BadSignature, match="match"):
        verify_signature(signed, URL, [other], REQUEST_TAG, NOW)


@pytest.mark.parametrize(
    ("status", "value", "asks"),
    [
        (403, 'sig1=("@authority");created;keyid;tag="web-bot-auth"', True),
        (401, 'x=("@authority" "signature-agent");expires', True),
        (403, 'a=("@method");tag="other", b=();tag="web-bot-auth"', True),
        (403, 'a=("@method");tag="other"', False),
        (403, "", False),
        (403, "yes", False),
        (403, "((", False),
        (200, 'sig1=("@authority");tag="web-bot-auth"', False),
        (429, 'sig1=("@authority");tag="web-bot-auth"', False),
    ],
)
def test_response_asks_for_a_signature(status: int, value: str, asks: bool) -> None:
    headers = (("accept-signature", value),) if value else ()
    assert asks_for_signature(status, headers) is asks


def test_newest_valid_key_signs() -> None:
    keys = [
        parse_keys(json.dumps({**TEST_JWK, "nbf": start, "exp": end}).encode())[0]
        for start, end in ((0, 100), (50, 200), (150, 300))
    ]
    for now, chosen in ((10, 0), (60, 1), (160, 2), (250, 2)):
        assert choose_key(keys, now) is keys[chosen]
    assert choose_key(keys, 400) is None


def test_key_is_read_from_pem_and_from_a_jwk_set() -> None:
    private = ed25519.Ed25519PrivateKey.from_private_bytes(urlsafe_b64decode(TEST_JWK["d"] + "="))
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    [again] = parse_keys(pem)
    assert again.thumbprint == THUMBPRINT
    both = json.dumps({"keys": [TEST_JWK, TEST_JWK]}).encode()
    assert [key.thumbprint for key in parse_keys(both)] == [THUMBPRINT] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"keys": []}',
        b"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----",
        json.dumps({**TEST_JWK, "crv": "X25519"}).encode(),
        json.dumps({**TEST_JWK, "x": "AAAA"}).encode(),
        json.dumps({name: TEST_JWK[name] for name in ("kty", "crv", "x")}).encode(),
    ],
)
def test_invalid_key_is_refused_without_its_text(data: bytes) -> None:
    with pytest.raises(BadKey) as error:
        parse_keys(data)
    assert "secret" not in str(error.value)


def test_private_key_is_not_shown() -> None:
    assert TEST_JWK["d"] not in repr(KEY) + json.dumps(KEY.public_jwk())


def test_agent_is_an_origin_with_https() -> None:
    assert all(map(is_agent, ("https://a.example", "https://a.example/", "https://a.example:8443")))
    refused = ("http://a.example", "https://", "https://a/b", 'https://a"b', "https://u@a", "a")
    assert not any(map(is_agent, refused))
