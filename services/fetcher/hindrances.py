"""What keeps this fetcher from its work though nothing on the Web is to blame: clock, network.

Each kind is told once when it begins and once when it is over: in the log, and to whoever shows
readiness.
"""

from collections.abc import Callable

import structlog

from gossamer.telemetry import set_gauge

logger = structlog.get_logger()

Tell = Callable[[str], None]
"""Takes all that hinders at the moment, in words; "" for nothing."""


class Hindrances:
    """By kind, a sentence on what hinders."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._known = tell, dict[str, str]()

    def report(self, kind: str, why: str) -> None:
        """Take in that *kind* hinders, because of *why*; "" says that it does no longer."""
        began, over = why and kind not in self._known, kind in self._known and not why
        if began:
            logger.error("hindered", kind=kind, why=why)
        if over:
            logger.warning("hindered no longer", kind=kind)
        self._known = {**self._known, kind: why} if why else self._without(kind)
        if began or over:
            set_gauge("gossamer_fetcher_hindered", bool(why), kind=kind)
        self._tell("; ".join(self._known.values()))

    def _without(self, kind: str) -> dict[str, str]:
        return {other: why for other, why in self._known.items() if other != kind}
