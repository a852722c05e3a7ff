"""Tokens: random secrets with a role. The file has their SHA-256 alone.

A token has 256 random bits, so a plain hash suffices: nobody can try all of them.
"""

import fcntl
import hmac
import os
import secrets
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from gossamer.errors import BadSettings
from gossamer.settings.api import Grant, Role

PRIVATE_MODE = 0o600
logger = structlog.get_logger()


class Token(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the file, `[NAME]`."""

    role: Role
    sha256: str
    """The hash of the token, in hexadecimal digits."""
    crawls: tuple[str, ...] = ()
    """Crawls for which the role is given; all, if there are none."""
    expires: datetime | None = None
    """When the token expires; None means never."""

    @property
    def grant(self) -> Grant:
        """The role and the crawls."""
        return Grant(self.role, frozenset(self.crawls) or None)


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a token, in hexadecimal digits."""
    return sha256(secret.encode()).hexdigest()


def new_secret() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(32)


class Tokens:
    """The valid tokens: those of *file*, which is read again when it changes, or one *generated*
    token, which may do everything."""

    def __init__(self, file: Path | None = None, generated: str | None = None) -> None:
        """Raise BadSettings if *file* cannot be read."""
        self._file = file
        self._version: tuple[int, int] | None = None
        self._tokens: dict[str, Token] = {}
        if generated:
            self._tokens["generated"] = Token("admin", digest_of(generated))
        if file:
            self._tokens, self._version = read_tokens(file), _version_of(file)

    def find(self, secret: str, now: float) -> tuple[str, Grant] | None:
        """Return the name and the grant of a token; None if it is unknown or expired at *now*, in
        epoch seconds."""
        return self.find_digest(digest_of(secret), now)

    def find_digest(self, digest: str, now: float) -> tuple[str, Grant] | None:
        """Return the name and the grant of the token with this SHA-256, as `find` does."""
        self._reread()
        found = None
        # All are compared, so that the duration says nothing about which one is similar.
        for name, token in self._tokens.items():
            if hmac.compare_digest(digest, token.sha256.lower()):
                found = name, token
        if found is None:
            return None
        name, token = found
        return (name, token.grant) if _is_valid(token, now) else None

    def _reread(self) -> None:
        if self._file is None or self._version == (version := _version_of(self._file)):
            return
        self._version = version
        try:
            self._tokens = read_tokens(self._file)
        except BadSettings as error:
            # An old copy could contain a token that was just revoked.
            self._tokens = {}
            logger.error(
                "file of tokens cannot be read: refusing all of its tokens", reason=str(error)
            )


def _is_valid(token: Token, now: float) -> bool:
    expires = token.expires
    if expires is None:
        return True
    return now < (expires if expires.tzinfo else expires.replace(tzinfo=UTC)).timestamp()


def _version_of(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def read_tokens(file: Path) -> dict[str, Token]:
    """Return the tokens in *file* by name. Raise BadSettings if it cannot be read."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
        return msgspec.convert(found, dict[str, Token])
    except FileNotFoundError as error:
        raise BadSettings(
            f"api.tokens_file: {file} does not exist: gossamer token creates it"
        ) from error
    except (OSError, UnicodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadSettings(f"api.tokens_file: {file} cannot be read: {error}") from error


def add_token(file: Path, name: str, grant: Grant, expires_at: float | None) -> str:
    """Add a new token to *file*, which is created for its owner alone; return the token.

    Raise BadSettings if *file* has a token of this *name* or cannot be written.
    """
    if file.exists() and name in read_tokens(file):
        raise BadSettings(f"{file} has a token {name}: remove its entry first")
    secret = new_secret()
    lines = [f'\n["{name}"]', f'role = "{grant.role}"', f'sha256 = "{digest_of(secret)}"']
    if grant.crawls:
        lines.append(f"crawls = {msgspec.json.encode(sorted(grant.crawls)).decode()}")
    if expires_at is not None:
        lines.append(f"expires = {datetime.fromtimestamp(int(expires_at), UTC).isoformat()}")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_MODE)
        with os.fdopen(descriptor, "a") as out:
            out.write("\n".join(lines) + "\n")
    except OSError as error:
        raise BadSettings(f"{file} cannot be written: {error.strerror}") from error
    return secret


@contextmanager
def keep_token(file: Path, token: str) -> Iterator[bool]:
    """Keep *token* in *file*, readable for its owner alone, within the block.

    If another process has its token there, that file is left alone. Yield whether *token* is in the
    file.
    """
    if _is_in_use(file):
        yield False
        return
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_MODE), "w") as out:
        # The lock ends with the process, also if it is killed and the file stays.
        fcntl.flock(out, fcntl.LOCK_EX)
        out.write(token)
        out.flush()
        try:
            yield True
        finally:
            file.unlink(missing_ok=True)


def _is_in_use(file: Path) -> bool:
    try:
        with file.open("rb") as found:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
