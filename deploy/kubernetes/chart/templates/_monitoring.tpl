{{/*
The labels of what the Prometheus operator reads. Given: the root.
*/}}
{{- define "portico.monitoring.labels" -}}
{{ merge (dict "app.kubernetes.io/part-of" "portico") .Values.monitoring.labels | toJson }}
{{- end }}
