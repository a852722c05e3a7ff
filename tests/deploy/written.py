"""Readers of the Dockerfile, the compose file and the manifests, for the tests beside this."""

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
K8S = ROOT / "k8s"
OUR_SCHEMAS = Path(__file__).parent / "schemas"
"""Schemas of operators' objects and of Compose files, with the fields that we use."""
BASE, LOCAL, PRODUCTION = K8S / "base", K8S / "overlays/local", K8S / "overlays/production"
SERVICES = ("frontier", "fetcher", "parser", "dedup", "archive")
CONSOLE = "console"
"""It is started on demand: it needs a token first."""

Fields = dict[str, Any]


def compose() -> Fields:
    """Return the compose file, its variables not filled in."""
    read: Fields = yaml.safe_load(COMPOSE.read_text())
    return read


def kustomizations() -> list[Path]:
    return sorted(path.parent for path in K8S.rglob("kustomization.yaml"))


def kustomization(folder: Path) -> Fields:
    read: Fields = yaml.safe_load((folder / "kustomization.yaml").read_text())
    return read


def builder() -> list[str]:
    """Return the command that builds a folder's manifests on this machine; empty without
    kubectl."""
    if shutil.which("kubectl"):
        return ["kubectl", "kustomize"]
    return ["kustomize", "build"] if shutil.which("kustomize") else []


def manifests(folder: Path) -> list[Fields]:
    """Return all objects of an overlay: as they are applied, or as written if nothing can build
    them."""
    if not builder():
        return list(written_objects(folder))
    return list(documents(built(folder)))


@cache
def built(folder: Path) -> str:
    """Return the objects of an overlay, as text."""
    done = subprocess.run([*builder(), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def written_objects(folder: Path) -> Iterator[Fields]:
    """Yield the resources that a folder and those under it list."""
    for name in kustomization(folder)["resources"]:
        path = folder / name
        if path.is_dir():
            yield from written_objects(path)
        else:
            yield from documents(path.read_text())


def documents(text: str) -> Iterator[Fields]:
    return (document for document in yaml.load_all(text, yaml.CSafeLoader) if document)


def settings(*folders: Path) -> dict[str, str]:
    """Return the settings of the pods; a later folder overrides an earlier one."""
    found: dict[str, str] = {}
    for folder in folders:
        lines = (folder / "settings.env").read_text().splitlines()
        found |= dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return found


def workload(name: str) -> Fields:
    """Return the StatefulSet, Deployment or Job of the base."""
    (found,) = (
        one
        for one in written_objects(BASE)
        if one["kind"] in ("StatefulSet", "Deployment", "Job") and one["metadata"]["name"] == name
    )
    return found


def pod(one: Fields) -> Fields:
    spec: Fields = one["spec"]["template"]["spec"]
    return spec


def container(name: str) -> Fields:
    (only,) = pod(workload(name))["containers"]
    found: Fields = only
    return found
