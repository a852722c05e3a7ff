"""The program as a child process: commands that run to their end, and a crawl that is watched."""

import os
import signal
import site
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from weakref import WeakSet

import gossamer
from gossamer.errors import BadSettings, GossamerError

PATIENCE = 30.0
"""Seconds for a process to finish its visits in flight, before it is stopped at once."""
COLOR_VARIABLES = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""Kernels of notebooks set them; the output of the program would be that for a terminal."""
BAD_USAGE, INTERRUPTED = 2, 130
"""Exit statuses of the program."""


class CrawlError(Exception):
    """The program could not do what it was asked. The message is its own: what failed, and the
    remedy."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the public exceptions for errors of the block: ValueError for a bad value, and
    otherwise CrawlError."""
    try:
        yield
    except BadSettings as error:
        raise ValueError(str(error)) from error
    except GossamerError as error:
        raise CrawlError(str(error)) from error


def run_command(
    words: Sequence[str], environment: Mapping[str, str], may_be_empty: bool = False
) -> str:
    """Return the output of the command `gossamer` *words*.

    Raise ValueError for bad usage, and CrawlError with the message of another failure. With
    *may_be_empty*, a failure without a message is an empty answer.
    """
    done = subprocess.run(
        _command(words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=_environment(environment),
        start_new_session=True,
        check=False,
    )
    if done.returncode == 1 and may_be_empty and not done.stderr:
        return ""
    _check(done.returncode, done.stderr)
    return done.stdout.decode(errors="replace")


@contextmanager
def read_lines(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
    """Yield the lines that the command `gossamer` *words* prints, while it runs. It is ended with
    the block."""
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            _command(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(environment),
            start_new_session=True,
        )
        assert process.stdout
        try:
            with process.stdout as lines:
                yield lines
            # The command ends at its next line if the block has not read all of them.
            status = process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        errors.seek(0)
        _check(status, errors.read())


class RunningCrawl:
    """A run of `gossamer crawl`. Its output goes to files, so that it never waits for a reader."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._out, self._err = TemporaryFile(), TemporaryFile()  # noqa: SIM115
        self._printed = 0
        self.line = ""
        """The newest line of progress, or the first sentence of the report."""
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            _command(["crawl", "--until-stdin-closes", *words]),
            stdin=subprocess.PIPE,
            stdout=self._out,
            stderr=self._err,
            env=_environment(environment),
            start_new_session=True,
        )
        _running.add(self)

    def leave_to_parent(self) -> None:
        """Close the pipe in a fork of the program, which may survive it."""
        if self._process.stdin:
            self._process.stdin.close()

    def is_alive(self) -> bool:
        """Return whether the process runs; for any thread."""
        return self._process.poll() is None

    def has_ended(self) -> bool:
        """Return whether the process has ended; update `line`."""
        ended = self._process.poll() is not None
        # The file's position is shared with the process, which writes there.
        printed = os.pread(self._out.fileno(), 1 << 20, self._printed)
        if whole := printed[: printed.rfind(b"\n") + 1]:
            self._printed += len(whole)
            lines = whole.decode(errors="replace").splitlines()
            # Further lines of the report are indented.
            self.line = next((one for one in reversed(lines) if one[:1].strip()), self.line)
        return ended

    def stop(self) -> None:
        """Interrupt the process, which finishes its visits in flight, and wait for its end.

        At a further Ctrl-C, or after PATIENCE seconds, it stops at once.
        """
        if os.getpid() != self._owner:
            return
        try:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGINT)
                self._process.wait(PATIENCE)
        except (KeyboardInterrupt, subprocess.TimeoutExpired) as reason:
            self._process.send_signal(signal.SIGINT)
            self._wait_or_kill()
            if isinstance(reason, KeyboardInterrupt):
                raise
        finally:
            for file in (self._process.stdin, self._out, self._err):
                if file:
                    file.close()

    def _wait_or_kill(self) -> None:
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def check(self) -> None:
        """Raise ValueError or CrawlError if the process has failed; print its warnings."""
        size = os.fstat(self._err.fileno()).st_size
        errors = os.pread(self._err.fileno(), size, 0)
        self.has_ended()
        _check(self._process.returncode, errors, self.line)
        if errors:
            print(errors.decode(errors="replace"), end="", file=sys.stderr)


_running: WeakSet[RunningCrawl] = WeakSet()


def _leave_to_parent() -> None:
    for running in _running:
        running.leave_to_parent()


# The workers of some libraries are forks of the program. A pipe is open while any of them has it.
os.register_at_fork(after_in_child=_leave_to_parent)


def _check(status: int, errors: bytes, otherwise: str = "") -> None:
    if status == 0:
        return
    message = errors.decode(errors="replace").strip().removeprefix("gossamer: ")
    message = message.replace("\ngossamer crawl --help shows the usage.", "")
    if status == BAD_USAGE:
        raise ValueError(message)
    if status == INTERRUPTED and not message:
        raise CrawlError("the crawl was interrupted: run it again to continue")
    if not message:
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        message = otherwise or f"the program {how}"
    raise CrawlError(message)


def _command(words: Sequence[str]) -> list[str]:
    # -P: modules in the working directory are not those of the program.
    return [sys.executable, "-P", "-m", "gossamer.console.cli.main", *words]


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child, which must find this package where the program did."""
    environment = {**os.environ, **more}
    for name in COLOR_VARIABLES:
        environment.pop(name, None)
    assert gossamer.__file__
    root = str(Path(gossamer.__file__).resolve().parent.parent)
    if root not in (*site.getsitepackages(), site.getusersitepackages()):
        path = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{root}{os.pathsep}{path}" if path else root
    return environment
