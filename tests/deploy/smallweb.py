"""The small web that a deployed fleet crawls: a container or a pod beside the fleet, of the same
image.

It answers for all its names at one address, DNS included, and writes its record into a folder of
the container.
"""

from pathlib import Path
from typing import Any

from tests.synthweb import Truth, World
from tests.synthweb.atlas import Atlas
from tests.synthweb.client import command_of
from tests.synthweb.record import REQUESTS
from tests.synthweb.truth import truth_of

SOURCE = Path(__file__).resolve().parents[1] / "synthweb"
WORLD = World.plain(seed=5, hosts=40, pages=90, seeds=8, robots=0.1, delays=0.05)
DELAY = 1.0
"""The courtesy delay in seconds: ninety pages of a host take at least a minute and a half."""
HTTP, DNS = 8000, 5353
FOLDER = "/tmp/record"
RECORD = f"{FOLDER}/{REQUESTS}"
NETWORK, ADDRESS = "172.30.99.0/24", "172.30.99.2"
"""The network and the address of the web in Docker."""
OTHER_CONTAINERS = "172.30.99.128/25"
"""The range of the other containers' addresses; otherwise the first container gets the lowest
address."""
RECEIVER = "site0.example"
"""The host of the web that receives the console's webhooks: it answers 200 to each POST to `/`."""
CONTACT = "crawl-test@example.org"

Fields = dict[str, Any]


def atlas() -> Atlas:
    return Atlas(WORLD, HTTP)


def truth() -> Truth:
    return truth_of(atlas(), atlas().seeds)


def command(address: str) -> list[str]:
    ports = [f"--http-port={HTTP}", f"--dns-port={DNS}"]
    where = [f"--address={address}", *ports, f"--record={FOLDER}"]
    return ["python", *command_of(WORLD), *where]


def settings(address: str, network: str) -> dict[str, str]:
    """Return the settings of a fleet that crawls this web and no other."""
    return {
        "GOSSAMER_FETCHER__NAMESERVER": f"{address}:{DNS}",
        "GOSSAMER_FETCHER__ALLOW_NETWORKS": f'["{network}"]',
        "GOSSAMER_FETCHER__CONTACT": CONTACT,
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
        # The lease of a stopped fetcher's check-out: ten visits, and the slack.
        "GOSSAMER_FETCHER__VISIT_LIMIT": "5",
        "GOSSAMER_FRONTIER__LEASE_SLACK": "5",
    }


def notifications(address: str) -> dict[str, str]:
    """Return the settings of a console that sends its notices to the web at *address*."""
    return {
        "GOSSAMER_NOTIFY__WEBHOOKS": f'["ops=http://{RECEIVER}:{HTTP}/"]',
        "GOSSAMER_NOTIFY__ALLOW_NETWORKS": f'["{address}/32"]',
        "GOSSAMER_NOTIFY__RULES": '["budget_spent"]',
        "GOSSAMER_NOTIFY__INTERVAL": "5",
    }


def compose_override(image: str, services: tuple[str, ...]) -> Fields:
    """Return the override of the compose file."""
    web = {
        "image": image,
        "command": command(ADDRESS),
        "working_dir": "/web",
        # The end of its standard input stops it.
        "stdin_open": True,
        "volumes": [f"{SOURCE}:/web/tests/synthweb:ro"],
        "networks": {"web": {"ipv4_address": ADDRESS}},
    }
    besides = {"environment": settings(ADDRESS, NETWORK)}
    console = {"environment": notifications(ADDRESS), "extra_hosts": [f"{RECEIVER}:{ADDRESS}"]}
    return {
        "services": {"web": web, "console": console, **dict.fromkeys(services, besides)},
        "networks": {
            "web": {"ipam": {"config": [{"subnet": NETWORK, "ip_range": OTHER_CONTAINERS}]}}
        },
    }


def pod(image: str) -> Fields:
    """Return the web as a pod in a cluster. Its code is in the config map `web`."""
    labels = {"app.kubernetes.io/name": "web"}
    confined = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    web = {
        "name": "web",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command("$(ADDRESS)"),
        "workingDir": "/web",
        "stdin": True,
        "env": [
            {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "readinessProbe": {"tcpSocket": {"port": HTTP}, "periodSeconds": 1},
        "securityContext": confined,
        "volumeMounts": [{"name": "code", "mountPath": "/web/tests/synthweb"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": labels},
        "spec": {
            "containers": [web],
            "volumes": [{"name": "code", "configMap": {"name": "web"}}],
        },
    }


def policy() -> Fields:
    """Return a network policy that lets the fetcher and the console reach the web."""
    names = {
        "key": "app.kubernetes.io/name",
        "operator": "In",
        "values": ["fetcher", "console"],
    }
    to = [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "web"}}}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "web"},
        "spec": {
            "podSelector": {"matchExpressions": [names]},
            "policyTypes": ["Egress"],
            "egress": [{"to": to}],
        },
    }
