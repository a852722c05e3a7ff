"""The codecs of tables in several threads at once."""

import subprocess
import sys

OPENED_IN_TWO_THREADS = '''
from threading import Event, Thread
from typing import ClassVar

from msgspec import Struct

from gossamer.store import Row
from gossamer.store.columns import Codec

entered = Event()

def kind_known_late() -> type:
    """Return a type, after another thread had time to use the incomplete one."""
    if not entered.is_set():
        entered.set()
        other.join(0.5)
    return int

class Inner(Struct):
    value: "kind_known_late()"

class Outer(Struct):
    inner: Inner

class Stored(Row, frozen=True):
    table: ClassVar[str] = "stored"
    partition_key: ClassVar[str] = "key"
    key: str
    outers: tuple[Outer, ...] = ()

def decode() -> None:
    codec = Codec(Stored, lambda kind: None, ["outers"])
    print(codec.row(("a", '[{"inner": {"value": 1}}]')), flush=True)

def decode_second() -> None:
    entered.wait()
    decode()

other = Thread(target=decode_second)
other.start()
decode()
other.join()
'''


def test_codec_is_complete_before_another_thread_decodes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENED_IN_TWO_THREADS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Stored(key='a'") == 2
