"""The Compose file and what it mounts: they name what there is, and fit together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.config import KEYS, PREFIX, load_config
from tests.unit.deploy.paths import DEPLOY

FOLDER = DEPLOY / "compose"
DOCKERFILE = (DEPLOY.parent / "Dockerfile").read_text()


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.fixture
def services() -> dict[str, Any]:
    return read("compose.yaml")["services"]


def test_the_service_takes_its_configuration(services: dict[str, Any]):
    environment = services["vivavoce"]["environment"]
    given = {name for name in environment if name.startswith(PREFIX)}
    assert given <= {PREFIX + key.upper() for key in KEYS}
    bar = "/etc/vivavoce/agents/bar"
    assert load_config({"host": "0.0.0.0"}, {**environment, "VIVAVOCE_AGENTS": ""}).agents == ()
    config = load_config({"host": "0.0.0.0"}, {**environment, "VIVAVOCE_AGENTS": bar})
    assert config.tls is not None
    assert config.tokens is not None
    mount, cache = services["vivavoce"]["volumes"]
    for path in (config.tls.cert, config.tls.key, config.tokens, config.agents[0].parent):
        assert str(path.parent) == mount.split(":")[1]
    assert environment["XDG_CACHE_HOME"] == cache.split(":")[1]
    assert f"install --directory --owner vivavoce --mode 0700 {environment['XDG_CACHE_HOME']}" in DOCKERFILE
    (secrets,) = services["vivavoce"]["env_file"]
    assert secrets == {"path": "./vivavoce/agents.env", "required": False}
    grace = int(services["vivavoce"]["stop_grace_period"].removesuffix("s"))
    assert grace >= config.drain_seconds + 20


def test_ports_are_those_of_the_image_and_of_prometheus(services: dict[str, Any]):
    (port,) = services["vivavoce"]["ports"]
    assert f"EXPOSE {port.split(':')[1]}" in DOCKERFILE
    ((target,),) = (
        each["targets"] for each in read("prometheus/prometheus.yaml")["scrape_configs"][0]["static_configs"]
    )
    assert target == f"vivavoce:{services['vivavoce']['environment']['VIVAVOCE_METRICS_PORT']}"
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert services["grafana"]["ports"] == ["127.0.0.1:3000:3000"], "it lets everybody look"


def test_the_image_tells_its_health_where_the_service_can_write(services: dict[str, Any]):
    assert services["vivavoce"]["read_only"] is True
    socket = re.search(r"unix:(/\S+)\.sock", DOCKERFILE)
    assert socket is not None
    (folder,) = services["vivavoce"]["tmpfs"]
    assert socket[1].startswith(folder.split(":")[0] + "/")
    assert "HEALTHCHECK" in DOCKERFILE


def test_networks_and_volumes_are_declared_and_metrics_are_nobody_elses(services: dict[str, Any]):
    whole = read("compose.yaml")
    assert {network for each in services.values() for network in each["networks"]} == set(whole["networks"])
    assert whole["networks"]["metrics"] == {"internal": True}
    published = {port.split(":")[-1] for each in services.values() for port in each.get("ports", ())}
    assert published == {"50051", "3000"}
    for each in services.values():
        for volume in each["volumes"]:
            source = volume.split(":")[0]
            if source == "./vivavoce":
                continue
            if source.startswith("."):
                assert (FOLDER / source).exists(), source
            else:
                assert source in whole["volumes"]


def test_grafana_shows_our_dashboard_from_the_start(services: dict[str, Any]):
    grafana = services["grafana"]
    mounts = {volume.split(":")[1]: FOLDER / volume.split(":")[0] for volume in grafana["volumes"]}
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    dashboard = json.loads((mounts[str(home.parent)] / home.name).read_text())
    (provider,) = read("grafana/provisioning/dashboards/vivavoce.yaml")["providers"]
    assert provider["options"]["path"] == str(home.parent)
    variable = next(each for each in dashboard["templating"]["list"] if each["type"] == "datasource")
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert variable["query"] == source["type"]
    assert source["isDefault"] is True


def test_what_a_house_keeps_secret_is_not_kept_in_the_project():
    assert "vivavoce/" in (FOLDER / ".gitignore").read_text().splitlines()
