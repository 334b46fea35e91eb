"""Values of the Helm chart, as five houses have them."""

from __future__ import annotations

from typing import Any

TLS = {"tls": {"secretName": "voice-tls"}}
TOKENS = {"auth": {"tokens": {"secretName": "voice-tokens"}}}
CLAIM = {"persistentVolumeClaim": {"claimName": "engines", "readOnly": True}}

VALUE_SETS: dict[str, dict[str, Any]] = {
    "a try-out": {
        "auth": {"insecure": True},
        "replicas": 1,
        "metrics": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
    },
    "TLS and tokens in the pods": {
        **TLS,
        **TOKENS,
        "service": {"type": "LoadBalancer", "port": 443, "annotations": {"example.org/zone": "a"}},
        "config": {"log_format": "json", "longest_minutes": 240, "load_reports": True},
    },
    "behind Envoy, scaled by KEDA": {
        "auth": {"insecure": True, "tokens": {"secretName": "voice-tokens"}, "limits": {"conversations": 4}},
        "image": {"repository": "registry.example.org/vivavoce", "digest": "sha256:" + "0" * 64},
        "imagePullSecrets": [{"name": "registry"}],
        "autoscaling": {"kind": "keda", "prometheusAddress": "http://prometheus.monitoring:9090"},
        "metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
        "networkPolicy": {"callers": [{"podSelector": {"matchLabels": {"app": "envoy"}}}]},
        "http": {"enabled": True, "port": 8081},
        "drainSeconds": 90.5,
    },
    "certificates and JWTs, engines of their own, scaled by an adapter": {
        "tls": {"secretName": "voice-tls", "clientCa": True},
        "auth": {
            "jwt": {"secretName": "keys", "issuer": "https://login.example.org", "audience": "vivavoce"},
            "limits": {"conversations": 4, "audio_seconds_per_minute": 240.5},
        },
        "engines": [{"name": "house", "volume": CLAIM, "subPath": "nlu"}],
        "variants": [{"name": "bar_one", "volume": CLAIM}, {"name": "museum", "volume": CLAIM}],
        "autoscaling": {"kind": "hpa", "minReplicas": 3, "maxReplicas": 12, "targetPercent": 55},
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "voice", "operator": "Exists"}],
        "agents": [
            {"name": "bar", "volume": {"configMap": {"name": "bar", "items": [{"key": "a", "path": "agent.yaml"}]}}},
            {"name": "museum_guide", "volume": CLAIM, "subPath": "guide"},
        ],
        "agentSecret": "bar-secrets",
        "extraEnv": [{"name": "OTEL_TRACES_SAMPLER", "value": "always_on"}],
        "config": {"otlp_endpoint": "http://collector.monitoring:4317"},
        "networkPolicy": {"egress": [{"to": [{"namespaceSelector": {}}], "ports": [{"port": 4317}]}]},
    },
    "Triton in a second container": {
        **TLS,
        **TOKENS,
        "triton": {
            "sidecar": {
                "image": "registry.example.org/vivavoce-triton:24.10",
                "command": ["tritonserver", "--model-repository=/models", "--grpc-address=unix:/run/triton/grpc"],
                "resources": {"limits": {"nvidia.com/gpu": 1}},
            }
        },
        "extraVolumes": [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}],
        "extraVolumeMounts": [{"name": "models", "mountPath": "/models"}],
    },
}
