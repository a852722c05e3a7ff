"""Every service starts with exactly the command, the environment and the probes of the compose file
and the manifests. Only addresses, ports and folders differ here."""

import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.servers import free_ports
from tests.support.commands import clean_environment, run_command
from tests.support.waiting import until

from .written import (
    BASE,
    CONSOLE,
    LOCAL,
    PRODUCTION,
    SERVICES,
    Fields,
    compose,
    container,
    settings,
)

TIMEOUT = 120.0
"""Seconds after which a process counts as hung; a busy machine needs some of them."""
CONTACT = "crawl-test@example.org"
FIRST = ("topics", "store")


def environment(name: str) -> dict[str, str]:
    """Return the environment of a service in the compose file, with the operator's variables."""
    given: dict[str, str] = compose()["services"][name]["environment"]
    probes_of = {"GOSSAMER_FETCHER__CONTACT": CONTACT, "GOSSAMER_CRAWL__SCOPE": "any()"}
    assert {it for it in given if given[it].startswith("$")} == set(probes_of)
    return {**given, **probes_of}


def cluster_environment(name: str) -> dict[str, str]:
    """Return the environment of the pod in the local overlay; values from other objects are
    empty."""
    own = {one["name"]: one.get("value", "") for one in container(name)["env"]}
    (source,) = [one for one in container(name)["envFrom"] if "configMapRef" in one]
    assert source == {"configMapRef": {"name": "gossamer"}}
    return {**settings(BASE, LOCAL), **own}


SECRETS = {"GOSSAMER_KAFKA__PASSWORD", "GOSSAMER_CASSANDRA__PASSWORD"}
OTHERWISE = {"GOSSAMER_FETCHER__CONTACT"}


@pytest.mark.slow
@pytest.mark.parametrize("name", (*SERVICES, *FIRST, CONSOLE))
def test_compose_and_kubernetes_have_the_same_settings(name: str) -> None:
    here, there = environment(name), cluster_environment(name)
    assert compose()["services"][name]["command"] == container(name)["command"]
    instance = {"GOSSAMER_SERVICE__INSTANCE"} if name in SERVICES else set()
    assert set(there) - set(here) == {"GOSSAMER_PARSER__WORKERS", *SECRETS, *instance}
    assert set(here) <= set(there)
    assert {it for it in here if here[it] != there[it]} == OTHERWISE


def test_production_has_all_settings_of_the_local_overlay() -> None:
    assert set(settings(BASE, LOCAL)) - set(settings(BASE, PRODUCTION)) == {
        # Strimzi creates the topics in production.
        "GOSSAMER_KAFKA__PARTITIONS",
        "GOSSAMER_KAFKA__REPLICATION",
    }


def probes(name: str) -> set[str]:
    """Return the paths of the kubelet's probes, on the port in the settings."""
    one = container(name)
    (port,) = one["ports"]
    assert str(port["containerPort"]) == settings(BASE)["GOSSAMER_SERVICE__PORT"]
    probes_of = [one[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert {it["port"] for it in probes_of} == {port["name"]}
    return {it["path"] for it in probes_of}


class Deployment:
    """The processes and folders of a test's fleet."""

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
        """Return the command with the installed programs of this environment."""
        return [str(Path(sys.executable).parent / words[0]), *words[1:]]

    def environment(self, name: str, port: int = 0) -> dict[str, str]:
        given = {**environment(name), **self._other, "GOSSAMER_SERVICE__PORT": str(port or 1)}
        folders = {it: str(self.folder) + given[it] for it in given if it.endswith("__FOLDER")}
        if name == CONSOLE:
            tokens = str(self.folder / "tokens.toml")
            folders |= {"GOSSAMER_API__PORT": str(port or 1), "GOSSAMER_API__TOKENS_FILE": tokens}
        return {**clean_environment(), **given, **folders}


@contextmanager
def start_process(name: str, target: Deployment, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    log = target.folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            target.command(compose()["services"][name]["command"]),
            env=target.environment(name, port),
            cwd=target.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def answers(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}{path}", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def is_healthy(check: list[str], target: Deployment, port: int) -> bool:
    """Run Compose's health check, as Docker does in the container."""
    kind, *words = check
    assert kind == "CMD"
    command = [word.replace(":8080/", f":{port}/") for word in target.command(words)]
    return run_command(command).code == 0


@pytest.mark.slow
def test_each_service_starts_is_ready_and_stops(kafka: str, cassandra: int, tmp_path: Path) -> None:
    target, services = Deployment(kafka, cassandra, tmp_path), compose()["services"]
    for name in FIRST:
        command = target.command(services[name]["command"])
        done = run_command(command, environment=target.environment(name))
        assert done.code == 0, done.err
    with ExitStack() as stack:
        ports = {name: free_ports(1) for name in SERVICES}
        running = {
            name: stack.enter_context(start_process(name, target, port))
            for name, port in ports.items()
        }
        for name, process in running.items():
            await_health(name, process, target, services[name], ports[name])
        ports[CONSOLE] = free_ports(1)
        running[CONSOLE] = start_console(target, ports[CONSOLE], stack)
        await_health(CONSOLE, running[CONSOLE], target, services[CONSOLE], ports[CONSOLE])
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        ended = {name: process.wait(TIMEOUT) for name, process in running.items()}
        assert ended == dict.fromkeys((*SERVICES, CONSOLE), 0), logs(target)


def start_console(target: Deployment, port: int, stack: ExitStack) -> "subprocess.Popen[bytes]":
    """Create a token, as the documentation says, and start the console."""
    command = target.command(["gossamer", "token", "ann", "--role", "admin"])
    done = run_command(command, environment=target.environment(CONSOLE))
    assert done.code == 0, done.err
    return stack.enter_context(start_process(CONSOLE, target, port))


def await_health(
    name: str,
    process: "subprocess.Popen[bytes]",
    target: Deployment,
    service: Fields,
    port: int,
) -> None:
    """Wait until Compose's check and the kubelet's probes succeed at the same time."""
    check, probes_of = service["healthcheck"]["test"], probes(name)

    def well() -> bool:
        assert process.poll() is None, f"it ended: {logs(target)}"
        return is_healthy(check, target, port) and all(answers(port, path) for path in probes_of)

    until(well, f"health of {name}, see {target.folder}")


def logs(target: Deployment) -> str:
    return "\n".join(f"{it.name}: {it.read_text()[-1000:]}" for it in target.folder.glob("*.log"))
