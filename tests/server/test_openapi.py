"""The OpenAPI description is true: requests made from it, right and wrong ones, get answers that it describes."""

from __future__ import annotations

import json
import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rankhash.server import Settings

from .conftest import encode_text
from .serving import TOKEN, serving

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def fuzzed(make, pictures, tmp_path_factory):
    """A client of a server that may be changed, with everything switched on."""
    folder = tmp_path_factory.mktemp("fuzzed")
    path = folder / "digits.rankhash"
    options = Settings(writable=True, token=TOKEN, folder=str(folder), images=str(pictures), text_encoder=encode_text)
    with make(path, store_vectors="float32") as made, serving({"digits": made}, options) as client:
        yield client


@pytest.fixture(scope="module")
def description(fuzzed):
    made = fuzzed.get("/openapi.json").json
    for path in made["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "name":
                    parameter["schema"] = {"enum": ["digits"] * 4 + ["other", "../digits", ""]}
                if parameter["name"] == "id":
                    parameter["schema"] = {"anyOf": [{"enum": ["0", "1", "599", "600"]}, {"type": "string"}]}
    return schemathesis.openapi.from_dict(made)


OPERATIONS = {
    "/v1/collections": ["get", "post"],
    "/v1/collections/{name}": ["get"],
    "/v1/collections/{name}/items": ["get", "post", "delete"],
    "/v1/collections/{name}/items/{id}": ["get"],
    "/v1/collections/{name}/images/{id}": ["get"],
    "/v1/collections/{name}/duplicates": ["get"],
    "/v1/collections/{name}/search": ["post"],
    "/healthz": ["get"],
    "/readyz": ["get"],
    "/metrics": ["get"],
}


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize(("path", "method"), [(path, one) for path, all_ in OPERATIONS.items() for one in all_])
def test_every_answer_is_as_described(fuzzed, description, path, method, mode):
    operation = description[path][method]
    if mode.is_negative and path in ("/v1/collections", "/healthz", "/readyz", "/metrics"):
        return  # nothing in these can be wrong

    @settings(
        max_examples=40 if path.endswith("search") else 12,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def ask(case):
        response = case.call(base_url=f"http://127.0.0.1:{fuzzed.port}", headers={"authorization": f"Bearer {TOKEN}"})
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400:
            error = json.loads(response.content)["error"]
            assert error["code"]
            assert error["message"]

    ask()


def test_the_description_has_examples_and_every_route(fuzzed):
    made = fuzzed.get("/openapi.json").json
    assert {path: [*operations] for path, operations in made["paths"].items()} == OPERATIONS
    search = made["paths"]["/v1/collections/{name}/search"]["post"]
    assert set(search["requestBody"]["content"]) == {
        "application/json",
        "application/octet-stream",
        "application/x-npy",
    }
    assert "examples" in json.dumps(search)
    for operations in made["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert "HTTPValidationError" not in json.dumps(operation)
    assert not re.search(r"https?://(?!127\.0\.0\.1)", json.dumps(made))
