"""How a process enters: what it is started with, and what it gives up before the first page.

System calls that Python has no function for.

Landlock: no files, no connections, no processes but its own. See landlock(7).

Seccomp: the kernel lets only those system calls through that reading pages takes.

See seccomp(2) and bpf(4). The filter refuses (EPERM) instead of killing: what a library tries and
can do without costs no page.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterable, Mapping

_libc = ctypes.CDLL(None, use_errno=True)

SET_NO_NEW_PRIVS = 38
"""linux/prctl.h: PR_SET_NO_NEW_PRIVS."""


def prctl(option: int, *arguments: object) -> None:
    """Do prctl(2); raise OSError if the kernel refuses, or there is no such call."""
    _call_libc("prctl", option, *arguments)


def syscall(number: int, *arguments: object) -> int:
    """Do system call *number* and return its result; raise OSError if it fails."""
    return _call_libc("syscall", number, *arguments)


def _call_libc(name: str, *arguments: object) -> int:
    if sys.platform != "linux":
        raise OSError("this is not Linux")
    # All as words of the machine: the C library reads as many as the call has.
    words = (ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments)
    result = int(getattr(_libc, name)(*words, *[ctypes.c_ulong(0)] * (6 - len(arguments))))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


CREATE_RULESET, RESTRICT_SELF = 444, 446
"""The same on every machine."""
RULESET_VERSION = 1
"""LANDLOCK_CREATE_RULESET_VERSION."""
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
NETWORK_RIGHTS = {4: 0b11}
SCOPE_RIGHTS = {6: 0b11}
"""By version of the interface: everything that it can refuse. Later versions refuse no less."""

_ruleset = struct.Struct("=QQQ")


def restrict_by_landlock() -> None:
    """Refuse this thread all that Landlock can; raise OSError where there is none."""
    version = syscall(CREATE_RULESET, None, 0, RULESET_VERSION)
    refused = _ruleset.pack(
        *(_newest_mask(each, version) for each in (FILE_RIGHTS, NETWORK_RIGHTS, SCOPE_RIGHTS))
    )
    ruleset = syscall(CREATE_RULESET, refused, len(refused), 0)
    try:
        syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _newest_mask(masks: dict[int, int], version: int) -> int:
    return max((mask for since, mask in masks.items() if since <= version), default=0)


SET_SECCOMP, FILTER_MODE = 22, 2
"""linux/prctl.h, linux/seccomp.h."""

# fmt: off
ALLOWED_CALLS = {
    "x86_64": {
        "read": 0, "write": 1, "close": 3, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
        "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17,
        "readv": 19, "writev": 20, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35,
        "setitimer": 38, "getpid": 39, "exit": 60, "gettimeofday": 96, "getrusage": 98,
        "sigaltstack": 131, "gettid": 186, "time": 201, "futex": 202, "restart_syscall": 219,
        "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231,
        "getrandom": 318,
    },
    "aarch64": {
        "close": 57, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
        "exit": 93, "exit_group": 94, "futex": 98, "nanosleep": 101, "setitimer": 103,
        "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "sched_yield": 124,
        "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
        "rt_sigreturn": 139, "getrusage": 165, "gettimeofday": 169, "getpid": 172, "gettid": 178,
        "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233,
        "getrandom": 278,
    },
}
"""By machine: to compute, to have memory, to use the pipes there are, to set the alarm, to end."""
# fmt: on
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""linux/audit.h: AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64."""

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
"""linux/bpf_common.h: BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K."""
NUMBER, ARCHITECTURE = 0, 4
"""Offsets in seccomp_data."""
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000
"""linux/seccomp.h: SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO with EPERM, SECCOMP_RET_KILL_PROCESS."""

_instruction = struct.Struct("=HBBI")


class _Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def restrict_by_seccomp() -> None:
    """Refuse this thread all but ALLOWED, for good; raise OSError where that cannot be."""
    machine = platform.machine()
    if machine not in ALLOWED_CALLS:
        raise OSError(f"seccomp: no filter is written for {machine}")
    load_filter(
        build_filter(ARCHITECTURES[machine], ALLOWED_CALLS[machine].values(), ALLOW, REFUSE)
    )


def build_filter(architecture: int, numbers: Iterable[int], listed: int, others: int) -> bytes:
    """Return a filter that says *listed* to the system calls *numbers* and *others* to the rest."""
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    for number in numbers:
        lines += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, listed)]
    return b"".join(_instruction.pack(*line) for line in [*lines, (RETURN, 0, 0, others)])


def load_filter(instructions: bytes) -> None:
    """Have the kernel ask the filter *instructions* before each system call of this thread."""
    length = len(instructions) // _instruction.size
    prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(_Program(length, instructions)))


INHERITED_VARIABLES = frozenset(
    {
        "LD_LIBRARY_PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONUSERBASE",
    }
)
"""What Python itself may need of the parent's environment."""
SET_VARIABLES = {
    "LC_ALL": "C.UTF-8",
    # Once there are no files, no dates are read in a time zone of the machine's.
    "TZ": "UTC0",
    # More threads would cost memory and gain nothing, and not be within the walls.
    "OPENBLAS_NUM_THREADS": "1",
}

RESTRICTIONS: dict[str, Callable[[], None]] = {
    "no_new_privs": lambda: prctl(SET_NO_NEW_PRIVS, 1),
    "landlock": restrict_by_landlock,
    "seccomp": restrict_by_seccomp,
}
"""In this order: the first is what the kernel demands for the others, the last would refuse them.
"""


def child_environment(of_parent: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a process is started with."""
    return {
        name: value for name, value in of_parent.items() if name in INHERITED_VARIABLES
    } | SET_VARIABLES


def enter_sandbox() -> dict[str, str]:
    """Give up all that reading pages does not take; return the walls that are missing, and why."""
    missing = {}
    for name, build in RESTRICTIONS.items():
        try:
            build()
        except OSError as error:
            missing[name] = str(error)
    return missing
