"""The Helm chart: rendered by Helm itself, and judged by the schemas of Kubernetes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import helm_python
import pytest
import yaml

from service.config import KEYS, ServiceConfig, load_config
from tests.unit.deploy.paths import DEPLOY
from tests.unit.deploy.value_sets import TLS, TOKENS, VALUE_SETS
from tests.unit.service.telemetry.test_metric_names import told

if TYPE_CHECKING:
    from types import ModuleType

CHART = DEPLOY / "helm" / "vivavoce"
SET_BY_THE_CHART = {
    *("host", "port", "drain_seconds", "tls_cert", "tls_key", "client_ca", "tokens", "jwt_keys", "jwt_issuer"),
    *(
        "jwt_audience",
        "limits",
        "insecure",
        "metrics_port",
        "http_port",
        "engines",
        "variants",
        "triton",
        "admin",
        "admin_socket",
    ),
}
VERSIONS = ("1.25", "1.31", "1.37")


def rendered(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The objects that the chart makes, by kind and name."""
    with helm_python.Chart.load(CHART) as chart:
        texts = chart.render(values, name="voice", namespace="prod")
    objects = [each for path, text in texts.items() if path.endswith(".yaml") for each in yaml.safe_load_all(text)]
    return {f"{each['kind']} {each['metadata']['name']}": each for each in objects if each}


@pytest.fixture(scope="module")
def kubernetes() -> ModuleType:
    # Here alone: to import it takes three seconds of each worker.
    import kubernetes_validate  # noqa: PLC0415

    return kubernetes_validate


def deployment(values: dict[str, Any]) -> dict[str, Any]:
    return rendered(values)["Deployment voice-vivavoce"]["spec"]


def container(values: dict[str, Any], name: str = "vivavoce") -> dict[str, Any]:
    return next(each for each in deployment(values)["template"]["spec"]["containers"] if each["name"] == name)


def environment(values: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container(values)["env"]}


@pytest.mark.parametrize("name", VALUE_SETS)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_rendered_is_what_kubernetes_takes(name: str, version: str, kubernetes: ModuleType):
    for each in rendered(VALUE_SETS[name]).values():
        if each["apiVersion"] not in {"keda.sh/v1alpha1", "monitoring.coreos.com/v1"}:
            kubernetes.validate(each, version, strict=True)


@pytest.mark.parametrize("name", VALUE_SETS)
def test_helm_has_nothing_against_the_chart(name: str):
    report = helm_python.lint(CHART, VALUE_SETS[name], strict=True)
    assert report["errors"] == []
    assert {each["error"] for each in report["messages"]} <= {"icon is recommended"}


@pytest.mark.parametrize("name", VALUE_SETS)
def test_the_service_takes_the_configuration_of_its_container(name: str):
    values = VALUE_SETS[name]
    config = load_config({"host": "0.0.0.0"}, environment(values))
    assert config.drain_seconds == values.get("drainSeconds", 30)
    assert (config.tls is not None) is ("tls" in values)
    assert config.limits.conversations == values.get("auth", {}).get("limits", {}).get("conversations")
    for key, value in values.get("config", {}).items():
        assert getattr(config, key) == value
    mounts = {each["mountPath"] for each in container(values)["volumeMounts"]}
    for path in (*config.engines, *config.variants.values(), *config.agents):
        assert str(path) in mounts
    for path in (config.tls_cert, config.client_ca, config.tokens, config.jwt_keys):
        assert path is None or str(path.parent) in mounts


def test_agents_have_their_secrets_and_a_place_for_their_knowledge():
    values = VALUE_SETS["certificates and JWTs, engines of their own, scaled by an adapter"]
    found, spec = container(values), deployment(values)["template"]["spec"]
    assert environment(values)["VIVAVOCE_AGENTS"] == "/agents/bar:/agents/museum_guide"
    assert found["envFrom"] == [{"secretRef": {"name": "bar-secrets"}}]
    mounts = {each["mountPath"]: each for each in found["volumeMounts"]}
    assert mounts["/agents/museum_guide"]["subPath"] == "guide"
    assert mounts["/agents/bar"]["readOnly"] is True
    cache = mounts[environment(values)["XDG_CACHE_HOME"]]
    assert "readOnly" not in cache
    volumes = {each["name"]: each for each in spec["volumes"]}
    assert volumes[cache["name"]]["emptyDir"] == {"sizeLimit": "2Gi"}
    assert "envFrom" not in container({"auth": {"insecure": True}})


@pytest.mark.parametrize("name", VALUE_SETS)
def test_the_containers_may_do_as_little_as_they_can(name: str):
    spec = deployment(VALUE_SETS[name])["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False, "a Service called vivavoce would set VIVAVOCE_PORT to an URL"
    pod = spec["securityContext"]
    assert (pod["runAsNonRoot"], pod["runAsUser"], pod["seccompProfile"]) == (True, 10001, {"type": "RuntimeDefault"})
    for each in spec["containers"]:
        context = each["securityContext"]
        assert context == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"/tmp", "/dev/shm"} <= {mount["mountPath"] for mount in each["volumeMounts"]}
    volumes = {each["name"] for each in spec["volumes"]}
    assert {mount["name"] for each in spec["containers"] for mount in each["volumeMounts"]} == volumes


def test_a_pod_has_the_time_that_its_drain_and_its_end_take():
    spec = deployment({**TLS, **TOKENS, "drainSeconds": 90.5})["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] == 5 + 91 + 20
    sidecar = deployment(VALUE_SETS["Triton in a second container"])["template"]["spec"]["containers"][1]
    assert sidecar["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "35"]


@pytest.mark.parametrize("tls", [True, False])
def test_probes_ask_what_answers(tls: bool):
    found = container({**TLS, **TOKENS} if tls else {"auth": {"insecure": True}})
    if tls:
        command = found["readinessProbe"]["exec"]["command"]
        assert command == found["startupProbe"]["exec"]["command"]
        assert command[:3] == ["python", "-m", "service.grpc_server.probe"]
        assert found["livenessProbe"]["exec"]["command"] == [*command[:3], "--alive", *command[3:]]
        dockerfile = (DEPLOY.parent / "Dockerfile").read_text()
        assert command[3] in dockerfile, "where the health check of the image asks"
    else:
        assert found["readinessProbe"]["grpc"] == found["startupProbe"]["grpc"] == {"port": 50051}
        assert found["livenessProbe"]["tcpSocket"] == {"port": "grpc"}


def test_scaling_asks_for_metrics_that_exist():
    scaled = rendered(VALUE_SETS["behind Envoy, scaled by KEDA"])
    assert "replicas" not in scaled["Deployment voice-vivavoce"]["spec"]
    (trigger,) = scaled["ScaledObject voice-vivavoce"]["spec"]["triggers"]
    assert trigger["type"] == "prometheus"
    assert trigger["metadata"]["threshold"] == "0.6"
    used = set(re.findall(r"\bvivavoce_\w+", trigger["metadata"]["query"]))
    assert used == {"vivavoce_speakers", "vivavoce_speakers_limit"}
    assert used <= told().keys()
    assert 'service="voice-vivavoce-replicas"' in trigger["metadata"]["query"]
    assert scaled["ScaledObject voice-vivavoce"]["spec"]["scaleTargetRef"] == {"name": "voice-vivavoce"}


def test_the_service_monitor_finds_the_service_of_the_replicas():
    made = rendered(VALUE_SETS["behind Envoy, scaled by KEDA"])
    monitor, service = made["ServiceMonitor voice-vivavoce"], made["Service voice-vivavoce-replicas"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    other = made["Service voice-vivavoce"]
    assert not monitor["spec"]["selector"]["matchLabels"].items() <= other["metadata"]["labels"].items()


def test_an_adapter_scales_by_utilization():
    made = rendered(VALUE_SETS["certificates and JWTs, engines of their own, scaled by an adapter"])
    (metric,) = made["HorizontalPodAutoscaler voice-vivavoce"]["spec"]["metrics"]
    assert metric["pods"]["target"]["averageValue"] == "550m"
    assert metric["pods"]["metric"]["name"] in (DEPLOY.parent / "docs" / "deployment.md").read_text()


def test_the_replicas_are_those_that_envoy_looks_for():
    made = rendered({"auth": {"insecure": True}})
    service = made["Service voice-vivavoce-replicas"]["spec"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    envoy = yaml.safe_load((DEPLOY / "envoy" / "envoy.yaml").read_text())
    endpoint = envoy["static_resources"]["clusters"][0]["load_assignment"]["endpoints"][0]["lb_endpoints"][0]
    address = endpoint["endpoint"]["address"]["socket_address"]
    assert address["port_value"] == service["ports"][0]["port"]
    with helm_python.Chart.load(CHART) as chart:
        texts = chart.render({"auth": {"insecure": True}}, name="vivavoce")
    assert f"name: {address['address']}\n" in texts["vivavoce/templates/services.yaml"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "give tls.secretName and one of auth.tokens"),
        (TLS, "give tls.secretName and one of auth.tokens"),
        ({"auth": {"insecure": True}, "tls": {"clientCa": True}}, "leave out tls.clientCa"),
        ({**TLS, "auth": {"jwt": {"secretName": "keys"}}}, "give auth.jwt.issuer and auth.jwt.audience"),
        ({**TLS, **TOKENS, "triton": {"sidecar": {"image": "x"}}}, "give triton.sidecar.command"),
        ({**TLS, **TOKENS, "triton": {"address": "t:1", "sidecar": {"image": "x"}}}, "one Triton at a time"),
        ({**TLS, **TOKENS, "triton": {"address": "t:1"}}, "name in networkPolicy.egress"),
        (
            {**TLS, **TOKENS, "triton": {"address": "t:1"}, "engines": [{"name": "a", "volume": {"emptyDir": {}}}]},
            "engines and variants belong to the Triton",
        ),
        ({**TLS, **TOKENS, "autoscaling": {"minReplicas": 5, "maxReplicas": 4}}, "lower the one"),
        ({**TLS, **TOKENS, "autoscaling": {"kind": "keda"}}, "give autoscaling.prometheusAddress"),
        ({**TLS, **TOKENS, "autoscaling": {"kind": "hpa"}, "metrics": {"enabled": False}}, "set metrics.enabled"),
        ({"replicas": -1}, "/replicas"),
        ({"replica": 1}, "'replica' not allowed"),
        ({"config": {"log_leevl": "INFO"}}, "'log_leevl' not allowed"),
        ({"config": {"tokens": "/tokens"}}, "'tokens' not allowed"),
        ({"tls": {"secretName": "Not a name"}}, "/tls/secretName"),
        ({"autoscaling": {"kind": "vpa"}}, "/autoscaling/kind"),
        (
            {**TLS, **TOKENS, "agents": [{"name": "a", "volume": {"emptyDir": {}}}], "config": {"agents": "/a"}},
            "leave out agents, or config.agents",
        ),
        ({"agents": [{"name": "Bar", "volume": {"emptyDir": {}}}]}, "/agents/0/name"),
        ({"variants": [{"name": "Bar", "volume": {"emptyDir": {}}}]}, "/variants/0/name"),
        ({"stopSeconds": 1}, "/stopSeconds"),
    ],
)
def test_values_that_will_not_do_are_refused_with_a_sentence(values: dict[str, Any], said: str):
    with pytest.raises(helm_python.HelmError, match=re.escape(said)):
        rendered(values)


def test_every_key_of_the_configuration_can_be_given():
    schema = json.loads((CHART / "values.schema.json").read_text())
    given = set(schema["properties"]["config"]["properties"])
    assert given == set(KEYS) - SET_BY_THE_CHART, "bring deploy/helm/vivavoce/values.schema.json up to date"
    limits = set(schema["properties"]["auth"]["properties"]["limits"]["properties"])
    assert limits == set(ServiceConfig().limits.__struct_fields__)


def test_every_value_is_in_the_schema_and_the_other_way_round():
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(values) == set(schema["properties"]) - {"global"}


def test_the_chart_has_the_version_of_the_service():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (DEPLOY.parent / "pyproject.toml").read_text()
    assert f'version = "{chart["appVersion"]}"' in project


def test_the_schemas_of_kubernetes_find_a_misspelt_field(kubernetes: ModuleType):
    made = rendered({"auth": {"insecure": True}})["Deployment voice-vivavoce"]
    made["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["periodSecond"] = 30
    with pytest.raises(kubernetes.ValidationError):
        kubernetes.validate(made, VERSIONS[-1], strict=True)
