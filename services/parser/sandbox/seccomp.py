"""Seccomp: the kernel lets only those system calls through that reading pages takes.

See seccomp(2) and bpf(4). The filter refuses (EPERM) instead of killing: what a library tries and
can do without costs no page.
"""

import ctypes
import platform
import struct
from collections.abc import Iterable

from services.parser.sandbox.kernel import prctl

SET_SECCOMP, FILTER = 22, 2
"""linux/prctl.h, linux/seccomp.h."""

# fmt: off
ALLOWED = {
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


def filter_calls() -> None:
    """Refuse this thread all but ALLOWED, for good; raise OSError where that cannot be."""
    machine = platform.machine()
    if machine not in ALLOWED:
        raise OSError(f"seccomp: no filter is written for {machine}")
    load(program(ARCHITECTURES[machine], ALLOWED[machine].values(), ALLOW, REFUSE))


def program(architecture: int, numbers: Iterable[int], listed: int, others: int) -> bytes:
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


def load(instructions: bytes) -> None:
    """Have the kernel ask the filter *instructions* before each system call of this thread."""
    length = len(instructions) // _instruction.size
    prctl(SET_SECCOMP, FILTER, ctypes.byref(_Program(length, instructions)))
