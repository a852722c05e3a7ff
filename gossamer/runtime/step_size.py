"""How much one step of a loop takes on, so that it ends in time."""

from gossamer.log import BATCH

FIRST_STEP = 32
"""Records of the first step: little is known of how long one takes."""


class StepSize:
    """The records of the next step: as many as were handled within *limit* seconds before.

    A loop that does not poll looks dead to its consumer group and to its liveness probe, and what
    a step does is lost if the process is killed in it. So a step is bounded by time, not only by
    records and bytes.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self.records = FIRST_STEP

    def adapt(self, seconds: float, is_full: bool) -> None:
        """Shrink in proportion to a step beyond the limit; double after a quick full one."""
        if seconds > self._limit:
            self.records = max(1, int(self.records * self._limit / seconds))
        elif is_full and 2 * seconds <= self._limit:
            self.records = min(BATCH, 2 * self.records)
