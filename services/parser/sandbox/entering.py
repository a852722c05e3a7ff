"""How a process enters: what it is started with, and what it gives up before the first page."""

from collections.abc import Callable, Mapping

from services.parser.sandbox.kernel import SET_NO_NEW_PRIVS, prctl
from services.parser.sandbox.landlock import grant_nothing
from services.parser.sandbox.seccomp import filter_calls

INHERITED = frozenset(
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
SET = {
    "LC_ALL": "C.UTF-8",
    # Once there are no files, no dates are read in a time zone of the machine's.
    "TZ": "UTC0",
    # More threads would cost memory and gain nothing, and not be within the walls.
    "OPENBLAS_NUM_THREADS": "1",
}

WALLS: dict[str, Callable[[], None]] = {
    "no_new_privs": lambda: prctl(SET_NO_NEW_PRIVS, 1),
    "landlock": grant_nothing,
    "seccomp": filter_calls,
}
"""In this order: the first is what the kernel demands for the others, the last would refuse them.
"""


def environment(of_parent: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a process is started with."""
    return {name: value for name, value in of_parent.items() if name in INHERITED} | SET


def enter() -> dict[str, str]:
    """Give up all that reading pages does not take; return the walls that are missing, and why."""
    missing = {}
    for name, build in WALLS.items():
        try:
            build()
        except OSError as error:
            missing[name] = str(error)
    return missing
