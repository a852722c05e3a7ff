"""The compose file: valid, and as restricted as the documentation claims."""

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from tests.support.commands import Done, clean_environment, run_command

from . import smallweb
from .written import (
    COMPOSE,
    CONSOLE,
    OUR_SCHEMAS,
    ROOT,
    SERVICES,
    Fields,
    compose,
)

STARTED = (*SERVICES, "topics", "store")
OURS = (*STARTED, CONSOLE)


def has_compose() -> bool:
    asked = ["docker", "compose", "version"]
    return bool(shutil.which("docker")) and run_command(asked).code == 0


def config(**more: str) -> Done:
    """Return the configuration that Compose computes from the file alone."""
    command = ["docker", "compose", "--file", str(COMPOSE), "--env-file", "/dev/null", "config"]
    return run_command(command, environment=clean_environment(**more))


@pytest.fixture(params=["our own", "the specification's"])
def schema(request: pytest.FixtureRequest, suite_folder: Callable[[str], Path]) -> Fields:
    """Return the schema of the fields that we use, or of all fields."""
    folder = OUR_SCHEMAS
    if request.param != "our own":
        folder = suite_folder("compose") / "deployment"
    read: Fields = json.loads((folder / "compose-spec.json").read_text())
    return read


def violations(schema: Fields, written: Fields) -> list[str]:
    kind = validator_for(schema, default=Draft202012Validator)
    errors = kind(schema).iter_errors(written)
    return [f"{error.json_path}: {error.message}" for error in errors]


def test_compose_file_is_valid_by_the_specification(schema: Fields) -> None:
    assert violations(schema, compose()) == []


def test_unknown_field_is_invalid(schema: Fields) -> None:
    written = compose()
    written["services"]["fetcher"]["surprise"] = 1
    (wrong,) = violations(schema, written)
    assert "surprise" in wrong


# Without Compose, the specification above is the only check.
if has_compose():

    def test_compose_accepts_the_file() -> None:
        done = config(GOSSAMER_CONTACT="you@example.org")
        assert (done.code, done.err) == (0, "")
        filled = yaml.safe_load(done.out)["services"]
        assert set(filled) == {*STARTED, "kafka", "cassandra"}
        for name in SERVICES:
            environment = filled[name]["environment"]
            assert environment["GOSSAMER_FETCHER__CONTACT"] == "you@example.org"
            assert environment["GOSSAMER_CRAWL__SCOPE"] == "any()"

    def test_operator_sets_the_scope() -> None:
        done = config(GOSSAMER_CONTACT="you@example.org", GOSSAMER_SCOPE='domain("example.org")')
        fetcher = yaml.safe_load(done.out)["services"]["fetcher"]
        assert fetcher["environment"]["GOSSAMER_CRAWL__SCOPE"] == 'domain("example.org")'

    def test_contact_is_required() -> None:
        done = config()
        assert done.code != 0
        assert "GOSSAMER_CONTACT" in done.err
        assert "webmaster" in done.err


@pytest.mark.parametrize("name", OURS)
def test_services_have_minimal_privileges(name: str) -> None:
    one: Fields = compose()["services"][name]
    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert one["user"] == "10001:10001"
    assert one["tmpfs"] == ["/tmp"]
    assert set(one["deploy"]["resources"]["limits"]) == {"memory", "pids"}
    assert not {"privileged", "cap_add", "container_name"} & set(one)
    # Docker publishes no port of a container that is in internal networks alone.
    leads_outside = name in ("fetcher", CONSOLE)
    assert set(one["networks"]) == ({"servers", "web"} if leads_outside else {"servers"})
    assert one.get("ports", []) == (["127.0.0.1:8080:8080"] if name == CONSOLE else [])


@pytest.mark.parametrize("name", (*SERVICES, CONSOLE))
def test_services_stop_gracefully_and_restart(name: str) -> None:
    one: Fields = compose()["services"][name]
    assert one["stop_grace_period"] == "40s"
    assert one["restart"] == "unless-stopped"
    assert set(one["depends_on"]) == {"topics", "store"}
    assert {it["condition"] for it in one["depends_on"].values()} == {
        "service_completed_successfully"
    }


def test_user_is_the_one_of_the_image() -> None:
    image = (ROOT / "Dockerfile").read_text()
    assert "--uid 10001 " in image
    assert "\nUSER 10001:10001\n" in image


def test_image_versions_are_pinned() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    images = {name: one["image"] for name, one in compose()["services"].items()}
    assert {images.pop(name) for name in OURS} == {f"gossamer:{version}"}
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for image in (*images.values(), *bases):
        assert re.fullmatch(r"[\w./-]+:\d+\.\d+[\w.-]*", image), image


def test_address_of_the_small_web_is_outside_of_the_range_of_other_containers() -> None:
    laid_over = smallweb.compose_override("image", SERVICES)
    address = IPv4Address(laid_over["services"]["web"]["networks"]["web"]["ipv4_address"])
    (pool,) = laid_over["networks"]["web"]["ipam"]["config"]
    assert address in IPv4Network(pool["subnet"])
    assert address not in IPv4Network(pool["ip_range"])
    assert IPv4Network(pool["ip_range"]).subnet_of(IPv4Network(pool["subnet"]))
