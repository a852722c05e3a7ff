"""The manifests: valid by the schemas of Kubernetes, Strimzi and KEDA without unknown fields,
listed, restricted, and without secrets."""

import json
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from .written import (
    CONSOLE,
    K8S,
    LOCAL,
    OUR_SCHEMAS,
    PRODUCTION,
    ROOT,
    SERVICES,
    Fields,
    builder,
    container,
    documents,
    kustomization,
    kustomizations,
    manifests,
    pod,
    workload,
    written_objects,
)

SCHEMAS = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
VERSIONS = ("1.31.0", kubernetes_validate.latest_version())
"""Versions of Kubernetes: the oldest with all fields that we use, and the newest in the package."""
CRDS = {
    "KafkaTopic": "strimzi-kafkatopic",
    "KafkaUser": "strimzi-kafkauser",
    "ScaledObject": "keda-scaledobject",
    "TriggerAuthentication": "keda-triggerauthentication",
}
HOW = " ".join(builder()) or "as written"
"""Shown with each test: whether the objects are checked as they are applied."""
SHOWN = [f"{folder.relative_to(K8S)}, {HOW}" for folder in kustomizations()]


@pytest.fixture(params=kustomizations(), ids=SHOWN)
def objects(request: pytest.FixtureRequest) -> list[Fields]:
    return manifests(request.param)


@pytest.fixture(params=["our own", "the operators'"])
def operator_schemas(request: pytest.FixtureRequest, suite_folder: Callable[[str], Path]) -> Path:
    """Return the folder with the schemas of the fields that we use, or of all fields."""
    if request.param == "our own":
        return OUR_SCHEMAS
    (folder,) = {suite_folder(name) / "deployment" for name in ("keda", "strimzi")}
    return folder


def name_of(one: Fields) -> str:
    return f"{one['kind']} {one['metadata']['name']}"


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_schemas_accept_each_object(objects: list[Fields], version: str) -> None:
    wrongs = [
        f"{name_of(one)}: {error.json_path}: {error.message}"
        for one in objects
        if one["kind"] not in CRDS
        for error in kubernetes_schema(one, version).iter_errors(one)
    ]
    assert not wrongs, "\n".join(wrongs)


def kubernetes_schema(one: Fields, version: str) -> Draft202012Validator:
    """Return the schema of such an object, in which an unknown field is an error."""
    # The package calls networking.k8s.io/v1 networking-v1.
    group, _, number = one["apiVersion"].rpartition("/")
    short = "-".join(part for part in (group.partition(".")[0], number) if part)
    folder = SCHEMAS / f"v{version}-local-strict"
    schema = json.loads((folder / f"{one['kind'].lower()}-{short}.json").read_text())
    return Draft202012Validator(schema, registry=definitions(folder))


@cache
def definitions(folder: Path) -> "Registry[Any]":
    contents = json.loads((folder / "_definitions.json").read_text())
    resource: Resource[Any] = Resource.from_contents(contents)
    return (resource @ Registry()).crawl()


@pytest.mark.slow
def test_operator_schemas_accept_each_object(objects: list[Fields], operator_schemas: Path) -> None:
    wrongs = []
    for one in objects:
        if one["kind"] not in CRDS:
            continue
        schema = crd_schema(operator_schemas / f"{CRDS[one['kind']]}.crd.yaml", one)
        for error in Draft202012Validator(schema).iter_errors(one):
            wrongs.append(f"{name_of(one)}: {error.json_path}: {error.message}")
    assert not wrongs, "\n".join(wrongs)


def crd_schema(path: Path, one: Fields) -> Fields:
    """Return the schema of the object's version; other versions are an error."""
    spec = yaml.safe_load(path.read_text())["spec"]
    group, _, version = one["apiVersion"].partition("/")
    assert group == spec["group"], name_of(one)
    (schema,) = (
        it["schema"]["openAPIV3Schema"] for it in spec["versions"] if it["name"] == version
    )
    closed: Fields = strict(schema)
    closed["properties"]["metadata"] = {"type": "object"}
    return closed


def strict(schema: Any) -> Any:
    """Forbid unknown fields, as an API server prunes them in a schema with properties."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(part) for name, part in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        closed.pop("type", None)
    free = schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and "type" in schema and not free:
        closed.setdefault("additionalProperties", False)
    return closed


@pytest.mark.parametrize("kind", CRDS)
def test_operator_schemas_refuse_unknown_fields(operator_schemas: Path, kind: str) -> None:
    (one, *_) = (
        one
        for folder in (PRODUCTION, PRODUCTION / "kafka")
        for one in written_objects(folder)
        if one["kind"] == kind
    )
    schema = crd_schema(operator_schemas / f"{CRDS[kind]}.crd.yaml", one)
    one["spec"]["surprise"] = 1
    (wrong,) = Draft202012Validator(schema).iter_errors(one)
    assert "surprise" in wrong.message


def test_kubernetes_schemas_refuse_unknown_fields() -> None:
    one = workload("fetcher")
    pod(one)["containers"][0]["livenessProbe"]["surprise"] = 1
    (wrong,) = kubernetes_schema(one, VERSIONS[0]).iter_errors(one)
    assert "surprise" in wrong.message


@pytest.mark.parametrize("folder", kustomizations(), ids=SHOWN)
def test_each_file_is_listed_and_each_patch_has_a_target(folder: Path) -> None:
    written = kustomization(folder)
    generated = [file for it in written.get("configMapGenerator", ()) for file in it["envs"]]
    patches = [it["path"] for it in written.get("patches", ()) if "path" in it]
    listed = {Path(name).name for name in (*written["resources"], *generated, *patches)}
    own = {path.name for path in folder.iterdir() if path.is_file()} - {"kustomization.yaml"}
    assert own == listed - {"base"}
    there = {name_of(one) for one in written_objects(folder)}
    assert set(patched_objects(folder, written)) <= there


def patched_objects(folder: Path, written: Fields) -> Iterator[str]:
    """Return the objects that the patches name."""
    for it in written.get("patches", ()):
        target = it.get("target", {})
        if "name" in target:
            yield f"{target['kind']} {target['name']}"
        elif not target:
            text = (folder / it["path"]).read_text() if "path" in it else it["patch"]
            yield from map(name_of, documents(text))
    for it in written.get("replicas", ()):
        yield f"StatefulSet {it['name']}"


@pytest.mark.slow
@pytest.mark.parametrize("folder", [LOCAL, PRODUCTION], ids=lambda folder: folder.name)
def test_pods_have_minimal_privileges(folder: Path) -> None:
    for one in manifests(folder):
        if one["kind"] not in ("StatefulSet", "Deployment", "Job"):
            continue
        spec, (only,) = pod(one), pod(one)["containers"]
        assert spec["automountServiceAccountToken"] is False, name_of(one)
        assert spec["enableServiceLinks"] is False, name_of(one)
        assert spec["securityContext"]["runAsNonRoot"] is True, name_of(one)
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name_of(one)
        assert only["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name_of(one)
        assert only["securityContext"]["allowPrivilegeEscalation"] is False, name_of(one)
        assert {"requests", "limits"} == set(only["resources"]), name_of(one)
        if "command" in only:
            assert only["securityContext"]["readOnlyRootFilesystem"] is True, name_of(one)
            assert spec["securityContext"]["runAsUser"] == 10001, name_of(one)


def test_files_contain_no_secrets(objects: list[Fields]) -> None:
    assert not [name_of(one) for one in objects if one["kind"] == "Secret"]
    for one in objects:
        if one["kind"] == "ConfigMap":
            data = one["data"]
            assert not [name for name in data if name.endswith("PASSWORD")]


def test_image_versions_are_pinned() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for name in (*SERVICES, CONSOLE, "topics", "store"):
        assert container(name)["image"] == f"gossamer:{version}"
    (image,) = kustomization(PRODUCTION)["images"]
    assert image["newTag"] == version


def test_only_the_fetcher_may_reach_the_web() -> None:
    policies = [one for one in written_objects(LOCAL) if one["kind"] == "NetworkPolicy"]
    outward = {
        one["metadata"]["name"]
        for one in policies
        for rule in one["spec"].get("egress", ())
        if any("ipBlock" in peer for peer in rule["to"])
    }
    assert outward == {"fetcher"}
    (fetcher,) = (one for one in policies if one["metadata"]["name"] == "fetcher")
    assert fetcher["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/name"] == "fetcher"
    (deny,) = (one for one in policies if one["metadata"]["name"] == "gossamer")
    assert deny["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_only_an_ingress_reaches_the_console() -> None:
    policies = [one for one in written_objects(PRODUCTION) if one["kind"] == "NetworkPolicy"]
    (console,) = (one for one in policies if one["metadata"]["name"] == CONSOLE)
    labels = pod_labels(workload(CONSOLE))
    assert console["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    (rule,) = console["spec"]["ingress"]
    (peer,) = rule["from"]
    assert peer == {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}
    }
    (service,) = (
        one for one in written_objects(K8S / "base") if name_of(one) == f"Service {CONSOLE}"
    )
    assert service["spec"]["selector"] == labels


def pod_labels(one: Fields) -> dict[str, str]:
    labels: dict[str, str] = one["spec"]["template"]["metadata"]["labels"]
    return labels


def test_each_stateful_set_has_a_service_and_a_disruption_budget() -> None:
    there = {name_of(one) for one in written_objects(K8S / "base")}
    for name in SERVICES:
        one = workload(name)
        assert one["spec"]["serviceName"] == name
        assert {f"Service {name}", f"PodDisruptionBudget {name}"} <= there
        assert pod(one)["terminationGracePeriodSeconds"] == 40
