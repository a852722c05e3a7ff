"""The sandbox of a child: it computes and replies, without files, network or other processes.

Native parsers read bytes of strangers, and one day a page will exploit one of them. Two things
limit the damage: the process starts without secrets (`child_environment`), and the kernel refuses
it nearly everything from the first page on (`enter_sandbox`). There are two restrictions, because
not every kernel has both.

*Seccomp* (seccomp(2), bpf(4)) allows only the system calls of a process that computes, manages its
memory and uses its connection. Other calls, present and future, fail with EPERM, so a library that
tries an optional call does not cost a page. No files can be opened, not even modules, so
everything that reading needs is loaded before (`warm_up`).

*Landlock* (landlock(7)) restricts objects instead of calls. No access is granted here. It also
keeps a process from reading the memory and environment of outside processes, such as the parent,
in /proc, and from sending them signals.

Both are permanent, need no privilege once the process cannot gain any (no_new_privs), and work in
containers, below their own filter. A process also starts where a kernel, or a container's filter,
lacks a restriction. The pool then logs a warning.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterable, Mapping

from gossamer.text.blocks import word_set

_libc = ctypes.CDLL(None, use_errno=True)

SET_NO_NEW_PRIVS = 38
"""linux/prctl.h: PR_SET_NO_NEW_PRIVS."""


def prctl(option: int, *arguments: object) -> None:
    """Call prctl(2); raise OSError if the kernel refuses or lacks it."""
    _call_libc("prctl", option, *arguments)


def syscall(number: int, *arguments: object) -> int:
    """Return the result of system call *number*; raise OSError if it fails."""
    return _call_libc("syscall", number, *arguments)


def _call_libc(name: str, *arguments: object) -> int:
    if sys.platform != "linux":
        raise OSError("not supported: this is not Linux")
    # All arguments are machine words. The C library reads as many as the call has.
    words = (ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments)
    result = int(getattr(_libc, name)(*words, *[ctypes.c_ulong(0)] * (6 - len(arguments))))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


CREATE_RULESET, RESTRICT_SELF = 444, 446
"""System call numbers, equal on all machines."""
RULESET_VERSION = 1
"""LANDLOCK_CREATE_RULESET_VERSION."""
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
NETWORK_RIGHTS = {4: 0b11}
SCOPE_RIGHTS = {6: 0b11}
"""All rights that a version of Landlock can refuse. Later versions refuse no less."""

_ruleset = struct.Struct("=QQQ")


def restrict_by_landlock() -> None:
    """Refuse this thread all rights of Landlock; raise OSError if the kernel lacks it."""
    version = syscall(CREATE_RULESET, None, 0, RULESET_VERSION)
    rights = (FILE_RIGHTS, NETWORK_RIGHTS, SCOPE_RIGHTS)
    refused = _ruleset.pack(*(_newest_mask(masks, version) for masks in rights))
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
"""System calls by machine: computing, memory, open connections, alarms, and exit."""
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
    """Refuse this thread all but ALLOWED_CALLS; raise OSError if the kernel lacks seccomp."""
    machine = platform.machine()
    if machine not in ALLOWED_CALLS:
        raise OSError(f"seccomp: no filter for {machine}")
    numbers = ALLOWED_CALLS[machine].values()
    load_filter(build_filter(ARCHITECTURES[machine], numbers, ALLOW, REFUSE))


def build_filter(architecture: int, numbers: Iterable[int], action: int, default: int) -> bytes:
    """Return a filter with *action* for the system calls *numbers*, and *default* for others."""
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    for number in numbers:
        lines += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, action)]
    return b"".join(_instruction.pack(*line) for line in [*lines, (RETURN, 0, 0, default)])


def load_filter(instructions: bytes) -> None:
    """Install the filter *instructions* for the system calls of this thread."""
    length = len(instructions) // _instruction.size
    prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(_Program(length, instructions)))


INHERITED_VARIABLES = word_set("""
    LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONHOME PYTHONPATH PYTHONUSERBASE
""")
"""Variables of the parent that Python may need."""
SET_VARIABLES = {
    "LC_ALL": "C.UTF-8",
    # The time zones of the machine are files.
    "TZ": "UTC0",
    # More threads would cost memory, gain nothing, and be outside the sandbox.
    "OPENBLAS_NUM_THREADS": "1",
}

RESTRICTIONS: dict[str, Callable[[], None]] = {
    "no_new_privs": lambda: prctl(SET_NO_NEW_PRIVS, 1),
    "landlock": restrict_by_landlock,
    "seccomp": restrict_by_seccomp,
}
"""The restrictions in order. The kernel requires the first for the others, and the last refuses
the calls of the others."""


def child_environment(parent: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child of a process with the environment *parent*."""
    inherited = {name: value for name, value in parent.items() if name in INHERITED_VARIABLES}
    return inherited | SET_VARIABLES


def enter_sandbox() -> dict[str, str]:
    """Restrict this process; return the missing restrictions, and the reasons."""
    missing = {}
    for name, restrict in RESTRICTIONS.items():
        try:
            restrict()
        except OSError as error:
            missing[name] = str(error)
    return missing
