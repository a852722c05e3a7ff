"""System calls that Python has no function for."""

import ctypes
import os
import sys

_libc = ctypes.CDLL(None, use_errno=True)

SET_NO_NEW_PRIVS = 38
"""linux/prctl.h: PR_SET_NO_NEW_PRIVS."""


def prctl(option: int, *arguments: object) -> None:
    """Do prctl(2); raise OSError if the kernel refuses, or there is no such call."""
    _checked("prctl", option, *arguments)


def syscall(number: int, *arguments: object) -> int:
    """Do system call *number* and return its result; raise OSError if it fails."""
    return _checked("syscall", number, *arguments)


def _checked(name: str, *arguments: object) -> int:
    if sys.platform != "linux":
        raise OSError("this is not Linux")
    # All as words of the machine: the C library reads as many as the call has.
    words = (ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments)
    result = int(getattr(_libc, name)(*words, *[ctypes.c_ulong(0)] * (6 - len(arguments))))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result
