"""Real deployments of a fleet, by Docker Compose and on Kubernetes: how each starts, scales and
runs commands."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.support.commands import clean_environment, run_command

from . import smallweb
from .written import COMPOSE, CONSOLE, LOCAL, ROOT, SERVICES, compose

IMAGE: str = compose()["services"]["fetcher"]["image"]
SERVERS = ("kafka", "cassandra")
IMAGES = (IMAGE, *(compose()["services"][name]["image"] for name in SERVERS))
NAMESPACE = "gossamer"
TOKEN = ("gossamer", "token", "ann", "--role", "admin")
CONSOLE_PORT = 8080
"""The console refuses requests for `localhost` with another port."""
TIMEOUT = 900.0
"""Seconds after which a command counts as hung."""


def run(*command: str, stdin: str = "", **more: str) -> str:
    """Run a command and return its output; fail with its output if it fails."""
    done = run_command(command, stdin, clean_environment(**more), TIMEOUT)
    assert done.code == 0, f"{shlex.join(command)}\n{done.out[-2000:]}{done.err[-4000:]}"
    return done.out


def build() -> None:
    """Build the image, with the additional options of this machine."""
    options = shlex.split(os.environ.get("GOSSAMER_BUILD_OPTIONS", ""))
    run("docker", "build", *options, "--tag", IMAGE, str(ROOT))


class Deployment(Protocol):
    """A fleet with the small web beside it."""

    name: str
    token: str
    """The token of an administrator of the console, once the deployment has started."""

    def start(self) -> None:
        """Start everything, and wait until all are ready."""

    def ask(self, service: str, *command: str, stdin: str = "") -> str:
        """Run a command in the container of a service."""

    def interrupt(self) -> str:
        """Stop some processes gracefully and start them again; return a description."""

    def replace(self) -> str:
        """Replace all processes by new ones; return a description."""

    def scale_fetcher(self, count: int) -> None:
        """Scale the fetcher to *count* instances."""

    def kill_console(self) -> None:
        """Kill the console, and wait until its successor is ready."""

    @contextmanager
    def console_port(self) -> Iterator[int]:
        """Make the console reachable at the port of this machine that is returned."""

    def remove(self) -> None:
        """Remove the deployment with its volumes."""

    def logs(self) -> str:
        """Return the last lines of all logs."""


class Compose:
    """A deployment on one server."""

    name, token = "Docker Compose", ""

    def __init__(self, folder: Path) -> None:
        override = folder / "override.json"
        override.write_text(json.dumps(smallweb.compose_override(IMAGE, SERVICES)))
        files = ("--file", str(COMPOSE), "--file", str(override), "--env-file", "/dev/null")
        self._command = ("docker", "compose", "--project-name", "gossamer-proof", *files)

    def _compose(self, *words: str, stdin: str = "") -> str:
        settings = {"GOSSAMER_CONTACT": smallweb.CONTACT, "COMPOSE_PROFILES": CONSOLE}
        return run(*self._command, *words, stdin=stdin, **settings)

    def start(self) -> None:
        run_once = ("run", "--rm", "--no-deps", "--no-TTY")
        self.token = self._compose(*run_once, CONSOLE, *TOKEN).strip()
        self._compose("up", "--detach", "--wait", "--no-build")

    def ask(self, service: str, *command: str, stdin: str = "") -> str:
        return self._compose("exec", "--no-TTY", service, *command, stdin=stdin)

    def interrupt(self) -> str:
        self._compose("stop", *SERVICES, *SERVERS)
        self._compose("up", "--detach", "--wait", "--no-build", "--no-recreate")
        return "everything stopped and started"

    def replace(self) -> str:
        self._compose("rm", "--stop", "--force", *SERVICES, *SERVERS)
        self._compose("up", "--detach", "--wait", "--no-build", "--scale", "fetcher=2")
        return "all containers recreated on their volumes"

    def scale_fetcher(self, count: int) -> None:
        words = ("--detach", "--wait", "--no-build", "--no-recreate", "--scale", f"fetcher={count}")
        self._compose("up", *words)

    def kill_console(self) -> None:
        self._compose("kill", CONSOLE)
        self._compose("up", "--detach", "--wait", "--no-build", "--no-recreate")

    @contextmanager
    def console_port(self) -> Iterator[int]:
        yield CONSOLE_PORT

    def remove(self) -> None:
        self._compose("down", "--volumes", "--timeout", "5")

    def logs(self) -> str:
        return self._compose("logs", "--tail", "40", "--no-color")


class Kubernetes:
    """A deployment in the cluster of kubectl's configuration."""

    name, token = "Kubernetes", ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self) -> None:
        """Apply the local overlay, then an overlay on top of it for the small web."""
        if load := os.environ.get("GOSSAMER_LOAD_IMAGE"):
            run(*shlex.split(load), *IMAGES, KUBECONFIG=os.environ.get("KUBECONFIG", ""))
        run("kubectl", "apply", "--kustomize", str(LOCAL))
        self._await()
        self._start_web()
        address = self._kubectl("get", "pod", "web", "--output=jsonpath={.status.podIP}")
        self._overlay(address)
        self._create_secrets(address)
        self._kubectl("delete", "jobs", "--all")
        run("kubectl", "apply", "--kustomize", str(self._folder))
        self._await()
        self._await_console()

    def _start_web(self) -> None:
        self._kubectl("create", "configmap", "web", f"--from-file={smallweb.SOURCE}")
        objects = {
            "apiVersion": "v1",
            "kind": "List",
            "items": [smallweb.pod(IMAGE), smallweb.policy()],
        }
        self._kubectl("apply", "--filename=-", stdin=json.dumps(objects))
        self._kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=120s")

    def _overlay(self, address: str) -> None:
        """Write an overlay on top of the local one for the web at *address*, as an operator
        does."""
        settings = smallweb.settings(address, f"{address}/32")
        aliases = [{"ip": address, "hostnames": [smallweb.RECEIVER]}]
        names_web = [{"op": "add", "path": "/spec/template/spec/hostAliases", "value": aliases}]
        generated = {
            "name": "gossamer",
            "behavior": "merge",
            "literals": [f"{name}={value}" for name, value in settings.items()],
        }
        kustomization = {
            "namespace": NAMESPACE,
            "resources": [os.path.relpath(LOCAL, self._folder.resolve())],
            "configMapGenerator": [generated],
            "patches": [
                {
                    "target": {"kind": "Deployment", "name": CONSOLE},
                    "patch": json.dumps(names_web),
                }
            ],
        }
        (self._folder / "kustomization.yaml").write_text(json.dumps(kustomization))

    def _create_secrets(self, address: str) -> None:
        """Create a token and its secret, and the secret with the console's webhook."""
        write = f"{shlex.join(TOKEN)} --file /tmp/ann.toml && cat /tmp/ann.toml"
        self.token, entry = self.ask("frontier", "sh", "-c", write).split("\n", 1)
        secrets = {
            "gossamer-console": {"tokens.toml": entry},
            "gossamer-notifications": smallweb.notifications(address),
        }
        for secret, values in secrets.items():
            literals = [f"--from-literal={name}={value}" for name, value in values.items()]
            self._kubectl("create", "secret", "generic", secret, *literals)

    def _kubectl(self, *words: str, stdin: str = "") -> str:
        return run("kubectl", "--namespace", NAMESPACE, *words, stdin=stdin)

    def _await(self) -> None:
        for name in (*SERVERS, *SERVICES):
            self._kubectl("rollout", "status", f"statefulset/{name}", "--timeout=600s")

    def ask(self, service: str, *command: str, stdin: str = "") -> str:
        pods = {"web": "web", CONSOLE: f"deployment/{CONSOLE}"}
        pod = pods.get(service, f"{service}-0")
        return self._kubectl("exec", "--stdin", pod, "--", *command, stdin=stdin)

    def interrupt(self) -> str:
        self._kubectl("delete", "pod", "fetcher-0", "frontier-0", "dedup-0")
        self._await()
        return "the pods of fetcher, frontier and dedup deleted and recreated"

    def replace(self) -> str:
        self._kubectl("rollout", "restart", *(f"statefulset/{name}" for name in SERVICES))
        self._await()
        return "a rolling restart of all services"

    def scale_fetcher(self, count: int) -> None:
        self._kubectl("scale", "statefulset/fetcher", f"--replicas={count}")
        self._await()

    def _await_console(self) -> None:
        self._kubectl("rollout", "status", f"deployment/{CONSOLE}", "--timeout=600s")

    def kill_console(self) -> None:
        pods = f"--selector=app.kubernetes.io/name={CONSOLE}"
        self._kubectl("delete", "pod", pods, "--grace-period=0", "--force")
        self._await_console()

    @contextmanager
    def console_port(self) -> Iterator[int]:
        where = ("--namespace", NAMESPACE, f"service/{CONSOLE}", f"{CONSOLE_PORT}:80")
        forward = ["kubectl", "port-forward", *where]
        with subprocess.Popen(forward, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout and process.stdout.readline(), "the port is not forwarded"
                yield CONSOLE_PORT
            finally:
                process.kill()

    def remove(self) -> None:
        run("kubectl", "delete", "namespace", NAMESPACE, "--timeout=300s")

    def logs(self) -> str:
        chosen = "--selector=app.kubernetes.io/part-of=gossamer"
        return self._kubectl("get", "pods") + self._kubectl(
            "logs", chosen, "--tail=40", "--prefix", "--max-log-requests=20"
        )


@contextmanager
def remove_at_end(deployment: Deployment) -> Iterator[Deployment]:
    """Remove everything at the end; print the last logs after a failure."""
    try:
        yield deployment
    except BaseException:
        print(deployment.logs(), flush=True)
        raise
    finally:
        deployment.remove()
