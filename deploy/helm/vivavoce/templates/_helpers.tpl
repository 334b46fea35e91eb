{{- define "vivavoce.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "vivavoce" $name) }}{{ $name = printf "%s-vivavoce" $name }}{{ end -}}
{{- $name | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "vivavoce.selector" -}}
app.kubernetes.io/name: vivavoce
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vivavoce.labels" -}}
{{ include "vivavoce.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "vivavoce.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end -}}
{{- end -}}
{{- end }}

{{/* What Helm's schema cannot say: values that do not go together. */}}
{{- define "vivavoce.check" -}}
{{- $proves := or .Values.auth.tokens.secretName .Values.auth.jwt.secretName .Values.tls.clientCa -}}
{{- if and (not .Values.auth.insecure) (not (and .Values.tls.secretName $proves)) -}}
{{- fail "callers must be known over TLS: give tls.secretName and one of auth.tokens.secretName, auth.jwt.secretName or tls.clientCa; or auth.insecure: true where a proxy before the pods does TLS, or everybody may call" -}}
{{- end -}}
{{- if and .Values.tls.clientCa (not .Values.tls.secretName) -}}
{{- fail "callers show certificates over TLS alone: give tls.secretName, or leave out tls.clientCa" -}}
{{- end -}}
{{- if and .Values.auth.jwt.secretName (not (and .Values.auth.jwt.issuer .Values.auth.jwt.audience)) -}}
{{- fail "JWTs are checked for their issuer and audience: give auth.jwt.issuer and auth.jwt.audience" -}}
{{- end -}}
{{- if and .Values.triton.address .Values.triton.sidecar.image -}}
{{- fail "one Triton at a time: leave out triton.address or triton.sidecar.image" -}}
{{- end -}}
{{- if and (or .Values.triton.address .Values.triton.sidecar.image) (or .Values.engines .Values.variants) -}}
{{- fail "engines and variants belong to the Triton that loads them: leave them out, or leave out triton.address and triton.sidecar.image" -}}
{{- end -}}
{{- if and .Values.triton.sidecar.image (not .Values.triton.sidecar.command) -}}
{{- fail "the second container must serve Triton at unix:/run/triton/grpc: give triton.sidecar.command" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (or .Values.triton.address .Values.config.otlp_endpoint) (not .Values.networkPolicy.egress) -}}
{{- fail "the NetworkPolicy lets nothing out but DNS: name in networkPolicy.egress where triton.address or config.otlp_endpoint is" -}}
{{- end -}}
{{- if and .Values.agents .Values.config.agents -}}
{{- fail "agents are given twice: leave out agents, or config.agents" -}}
{{- end -}}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas: lower the one, or raise the other" -}}
{{- end -}}
{{- if and (eq .Values.autoscaling.kind "keda") (not .Values.autoscaling.prometheusAddress) -}}
{{- fail "KEDA asks Prometheus: give autoscaling.prometheusAddress, such as http://prometheus.monitoring:9090" -}}
{{- end -}}
{{- if and (ne .Values.autoscaling.kind "none") (not .Values.metrics.enabled) -}}
{{- fail "autoscaling follows the metrics: set metrics.enabled, or autoscaling.kind to none" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "a ServiceMonitor needs metrics: set metrics.enabled, or leave out metrics.serviceMonitor" -}}
{{- end -}}
{{- end }}

{{/* NAME=/engines/NAME pairs, or the paths alone, with ":" between them. */}}
{{- define "vivavoce.engines" -}}
{{- range $index, $one := .Values.engines }}{{ if $index }}:{{ end }}/engines/{{ $one.name }}{{ end -}}
{{- end }}

{{- define "vivavoce.agents" -}}
{{- range $index, $one := .Values.agents }}{{ if $index }}:{{ end }}/agents/{{ $one.name }}{{ end -}}
{{- end }}

{{- define "vivavoce.variants" -}}
{{- range $index, $one := .Values.variants }}{{ if $index }}:{{ end }}{{ $one.name }}=/variants/{{ $one.name }}{{ end -}}
{{- end }}

{{- define "vivavoce.limits" -}}
{{- $pairs := list -}}
{{- range $name, $most := .Values.auth.limits }}{{ $pairs = append $pairs (printf "%s=%v" $name $most) }}{{ end -}}
{{- join ":" $pairs -}}
{{- end }}

{{- define "vivavoce.probe" -}}
{{- if .root.Values.tls.secretName -}}
exec:
  command: [python, -m, service.grpc_server.probe, {{ if .alive }}--alive, {{ end }}"unix:/tmp/vivavoce-10001/admin-50051.sock"]
{{- else if .alive -}}
tcpSocket: {port: grpc}
{{- else -}}
grpc: {port: 50051}
{{- end }}
{{- end }}
