"""Landlock: no files, no connections, no processes but its own. See landlock(7)."""

import os
import struct

from services.parser.sandbox.kernel import syscall

CREATE_RULESET, RESTRICT_SELF = 444, 446
"""The same on every machine."""
VERSION = 1
"""LANDLOCK_CREATE_RULESET_VERSION."""
FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
NETWORK = {4: 0b11}
SCOPES = {6: 0b11}
"""By version of the interface: everything that it can refuse. Later versions refuse no less."""

_ruleset = struct.Struct("=QQQ")


def grant_nothing() -> None:
    """Refuse this thread all that Landlock can; raise OSError where there is none."""
    version = syscall(CREATE_RULESET, None, 0, VERSION)
    refused = _ruleset.pack(*(_newest(each, version) for each in (FILES, NETWORK, SCOPES)))
    ruleset = syscall(CREATE_RULESET, refused, len(refused), 0)
    try:
        syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _newest(masks: dict[int, int], version: int) -> int:
    return max((mask for since, mask in masks.items() if since <= version), default=0)
