"""Every service starts with exactly the command, the environment and the probes that the compose
file and the manifests name. Only addresses, ports and folders are others here."""

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.servers import free_ports

from .written import (
    BASE,
    LOCAL,
    PRODUCTION,
    SERVICES,
    Fields,
    clean_environment,
    compose,
    container,
    settings,
)

PATIENCE = 120.0
"""Seconds after which something hangs; a busy machine needs some of them."""
CONTACT = "crawl-test@example.org"
FIRST = ("topics", "store")


def environment(name: str) -> dict[str, str]:
    """What the compose file gives a service, its variables filled in as an operator would."""
    said: dict[str, str] = compose()["services"][name]["environment"]
    asked = {"GOSSAMER_FETCHER__CONTACT": CONTACT, "GOSSAMER_CRAWL__SCOPE": "any()"}
    assert {it for it in said if said[it].startswith("$")} == set(asked)
    return {**said, **asked}


def in_cluster(name: str) -> dict[str, str]:
    """What the local overlay gives its pod; what comes from elsewhere is empty."""
    own = {one["name"]: one.get("value", "") for one in container(name)["env"]}
    (source,) = container(name)["envFrom"]
    assert source == {"configMapRef": {"name": "gossamer"}}
    return {**settings(BASE, LOCAL), **own}


SECRETS = {"GOSSAMER_KAFKA__PASSWORD", "GOSSAMER_CASSANDRA__PASSWORD"}
OTHERWISE = {"GOSSAMER_FETCHER__CONTACT"}


@pytest.mark.parametrize("name", SERVICES + FIRST)
def test_compose_and_kubernetes_say_the_same(name: str) -> None:
    here, there = environment(name), in_cluster(name)
    assert compose()["services"][name]["command"] == container(name)["command"]
    instance = {"GOSSAMER_SERVICE__INSTANCE"} if name in SERVICES else set()
    assert set(there) - set(here) == {"GOSSAMER_PARSER__WORKERS", *SECRETS, *instance}
    assert set(here) <= set(there)
    assert {it for it in here if here[it] != there[it]} == OTHERWISE


def test_production_gives_all_that_the_local_overlay_does() -> None:
    assert set(settings(BASE, LOCAL)) - set(settings(BASE, PRODUCTION)) == {
        # Strimzi makes the topics there.
        "GOSSAMER_KAFKA__REPLICATION"
    }


def probes(name: str) -> set[str]:
    """The paths that the kubelet asks, on the port that the settings name."""
    one = container(name)
    (port,) = one["ports"]
    assert str(port["containerPort"]) == settings(BASE)["GOSSAMER_SERVICE__PORT"]
    asked = [one[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert {it["port"] for it in asked} == {port["name"]}
    return {it["path"] for it in asked}


class Place:
    """Where a fleet of this test's own lives."""

    def __init__(self, kafka: str, cassandra: int, folder: Path) -> None:
        own = uuid.uuid4().hex[:12]
        self.folder = folder
        self._other = {
            "GOSSAMER_KAFKA__SERVERS": kafka,
            "GOSSAMER_KAFKA__PREFIX": f"{own}.",
            "GOSSAMER_CASSANDRA__HOSTS": '["127.0.0.1"]',
            "GOSSAMER_CASSANDRA__PORT": str(cassandra),
            "GOSSAMER_CASSANDRA__KEYSPACE": f"k{own}",
        }

    def command(self, words: list[str]) -> list[str]:
        """The installed programs, where an image would have them on its path."""
        return [str(Path(sys.executable).parent / words[0]), *words[1:]]

    def environment(self, name: str, port: int = 0) -> dict[str, str]:
        said = {**environment(name), **self._other, "GOSSAMER_SERVICE__PORT": str(port or 1)}
        folders = {it: str(self.folder) + said[it] for it in said if it.endswith("__FOLDER")}
        return {**clean_environment(), **said, **folders}


@contextmanager
def started(name: str, place: Place, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    said = place.folder / f"{name}.log"
    with said.open("wb") as out:
        process = subprocess.Popen(
            place.command(compose()["services"][name]["command"]),
            env=place.environment(name, port),
            cwd=place.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(happened: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path) -> None:
    latest = time.monotonic() + PATIENCE
    while not happened():
        assert process.poll() is None, f"it ended: {log.read_text()[-3000:]}"
        assert time.monotonic() < latest, f"never ready: {log.read_text()[-3000:]}"
        time.sleep(0.2)


def answers(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}{path}", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def is_healthy(check: list[str], place: Place, port: int) -> bool:
    """Run Compose's health check as Docker would in the container."""
    kind, *words = check
    assert kind == "CMD"
    command = [word.replace(":8080/", f":{port}/") for word in place.command(words)]
    return not subprocess.run(command, capture_output=True, check=False).returncode


@pytest.mark.slow
def test_every_service_starts_is_ready_and_stops(
    kafka: str, cassandra: int, tmp_path: Path
) -> None:
    place, services = Place(kafka, cassandra, tmp_path), compose()["services"]
    for name in FIRST:
        done = subprocess.run(
            place.command(services[name]["command"]),
            env=place.environment(name),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    with ExitStack() as stack:
        ports = {name: free_ports(1) for name in SERVICES}
        running = {
            name: stack.enter_context(started(name, place, port)) for name, port in ports.items()
        }
        for name, process in running.items():
            is_well(name, process, place, services[name], ports[name])
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        ended = {name: process.wait(PATIENCE) for name, process in running.items()}
        assert ended == dict.fromkeys(SERVICES, 0), said(place)


def is_well(
    name: str, process: "subprocess.Popen[bytes]", place: Place, service: Fields, port: int
) -> None:
    """Compose's check and the kubelet's probes come to hold, and then hold together."""
    log = place.folder / f"{name}.log"
    check = service["healthcheck"]["test"]
    until(lambda: is_healthy(check, place, port), process, log)
    for path in probes(name):
        until(lambda path=path: answers(port, path), process, log)  # type: ignore[misc]


def said(place: Place) -> str:
    return "\n".join(f"{it.name}: {it.read_text()[-1000:]}" for it in place.folder.glob("*.log"))
