"""The OpenAPI description: requests that it allows never fail, and responses are as described."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
)
from schemathesis.core.failures import FailureGroup

from gossamer.console.cli.main import main
from tests.console.served import TOKEN, serving

CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance)
STREAMS = ("/v1/live",)
"""Responses without an end."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the description of the API of a small crawl."""
    data = tmp_path_factory.mktemp("schema") / "data"
    assert main(["seed", "--data", str(data), "http://a.example/"]) == 0
    with serving(data) as url:
        yield schemathesis.openapi.from_url(f"{url}/schema/openapi.json")


def test_described_requests_get_described_responses(schema: Any) -> None:
    operations = [found.ok() for found in schema.get_all_operations()]
    ours = [one for one in operations if one.path.startswith("/v1/") and one.path not in STREAMS]
    assert len(ours) > 30
    faults = {one.label: fault for one in ours if (fault := _fault(one))}
    assert not faults


def _fault(operation: Any) -> str:
    """Call *operation* with generated requests; return the first fault, or ""."""

    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=[*HealthCheck])
    @given(case=operation.as_strategy())
    def call(case: Any) -> None:
        response = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
        case.validate_response(response, checks=list(CHECKS))

    try:
        call()
    except FailureGroup as found:
        return "\n".join(map(str, found.exceptions))
    return ""
