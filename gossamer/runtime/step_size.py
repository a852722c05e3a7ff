"""The size of a loop's next step, so that it ends in time."""

from gossamer.log import MAX_POLL_RECORDS

FIRST_STEP = 32
"""Number of records of the first step, whose duration is unknown."""


class StepSize:
    """Number of records for the next step: as many as were recently handled within *limit* seconds.

    A loop that does not poll seems stuck to its consumer group and to its liveness probe, and the
    work of a step is lost if the process is killed. A step is therefore bounded by time, not only
    by records and bytes.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self.records = FIRST_STEP

    def adapt(self, seconds: float, is_full: bool) -> None:
        """Shrink in proportion after a step beyond the limit, and double after a quick full
        step."""
        if seconds > self._limit:
            self.records = max(1, int(self.records * self._limit / seconds))
        elif is_full and 2 * seconds <= self._limit:
            self.records = min(MAX_POLL_RECORDS, 2 * self.records)
