"""Reads our private keys, and signs requests with them.

A key is a file with a private Ed25519 key: PEM, a JWK, or a JWK set. In a folder, every file that
is not hidden is one. All keys are published; the valid one with the latest `nbf` signs, and of
equal ones the last by file name.
"""

import stat
from collections.abc import Sequence
from pathlib import Path
from secrets import token_urlsafe

import structlog

from gossamer.clock import Clock
from gossamer.errors import BadSettings
from gossamer.settings import FetcherSettings
from gossamer.telemetry import count
from gossamer.web.http import Headers
from gossamer.web.signatures import BadKey, SigningKey, choose_key, parse_keys, sign_request
from gossamer.web.signing import AgentForm, SignMode

NONCE_BYTES = 32
FORBIDDEN_MODE = stat.S_IRWXO | stat.S_IWGRP
"""Permissions that a file with a private key must not have. A mounted secret of Kubernetes may be
readable for the group."""

logger = structlog.get_logger()


def read_signing_keys(path: Path) -> list[SigningKey]:
    """Return the keys in the file or folder *path*; raise BadSettings if one cannot be used."""
    try:
        files = [path]
        if path.is_dir():
            files = sorted(
                file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")
            )
        keys = [key for file in files for key in _read(file)]
    except OSError as error:
        raise BadSettings(f"fetcher.signing_keys: {path} cannot be read") from error
    if not keys:
        raise BadSettings(f"fetcher.signing_keys: {path} contains no key (gossamer identity keys)")
    if len({key.thumbprint for key in keys}) < len(keys):
        raise BadSettings(f"fetcher.signing_keys: {path} contains a key twice")
    return keys


def _read(file: Path) -> list[SigningKey]:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & FORBIDDEN_MODE:
        raise BadSettings(
            f"fetcher.signing_keys: {file} has the mode {mode:04o}, so that others may read or "
            "write the key: use chmod 600"
        )
    try:
        return parse_keys(file.read_bytes())
    except BadKey as error:
        raise BadSettings(f"fetcher.signing_keys: {file}: {error}") from error


class Signer:
    """Signs requests, each with a new signature. Raise BadSettings if a key cannot be used."""

    def __init__(self, settings: FetcherSettings, clock: Clock) -> None:
        self._clock, self._agent = clock, settings.signature_agent.removesuffix("/")
        self._form, self._always = (
            AgentForm(settings.signature_agent_form),
            SignMode(settings.sign) is SignMode.ALWAYS,
        )
        self._keys: Sequence[SigningKey] = ()
        self._has_warned = False
        if SignMode(settings.sign) is not SignMode.NEVER and settings.signing_keys:
            self._keys = read_signing_keys(settings.signing_keys)
            if all(key.expires_at <= clock() for key in self._keys):
                raise BadSettings(
                    f"fetcher.signing_keys: all keys in {settings.signing_keys} have expired"
                )

    def headers(self, url: str, sign: bool) -> Headers:
        """Return the headers that sign a request for *url*; () if it is not signed.

        *sign*: the order asks for a signature.
        """
        if not (sign or self._always) or not self._keys:
            return ()
        now = self._clock()
        key = choose_key(self._keys, now)
        if key is None:
            if not self._has_warned:
                logger.warning("requests are not signed", reason="no signing key is valid now")
            self._has_warned = True
            return ()
        self._has_warned = False
        count("gossamer_signed_requests_total")
        nonce = token_urlsafe(NONCE_BYTES)
        return sign_request(url, key, self._agent, self._form, now, nonce)
