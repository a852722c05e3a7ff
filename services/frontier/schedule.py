"""Hosts in the order of a number that each has, or of a time: a heap as long as there are hosts."""

from heapq import heapify, heappop, heappush

SPARE = 64


class Schedule:
    """Each host once, under a key; the least key comes first.

    The heap is cleaned lazily: what a host was under before counts no more, and when that is more
    than half of the heap it is made anew.
    """

    def __init__(self) -> None:
        self._keys: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def put(self, host: str, key: float) -> None:
        """Have *host* under *key* from now on."""
        if self._keys.get(host) == key:
            return
        self._keys[host] = key
        heappush(self._heap, (key, host))
        if len(self._heap) > 2 * len(self._keys) + SPARE:
            self._heap = [(key, host) for host, key in self._keys.items()]
            heapify(self._heap)

    def get(self, host: str) -> float:
        """Return the key that *host* is under; 0 if it is not here."""
        return self._keys.get(host, 0.0)

    def remove(self, host: str) -> None:
        """Have *host* no more, if it was here."""
        self._keys.pop(host, None)

    def first(self) -> tuple[float, str] | None:
        """Return the least key and its host; None if there is no host."""
        heap = self._heap
        while heap:
            key, host = heap[0]
            if self._keys.get(host) == key:
                return heap[0]
            heappop(heap)
        return None

    def one_of_the_last(self) -> str | None:
        """Return a host that has none behind it in the heap: its key is larger than most."""
        while self._heap:
            key, host = self._heap[-1]
            if self._keys.get(host) == key:
                return host
            self._heap.pop()
        return None

    @property
    def size(self) -> int:
        """The length of the heap."""
        return len(self._heap)
