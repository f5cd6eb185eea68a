{{/*
A Deployment with its PodDisruptionBudget. Given: root, name, args, env, replicas (0 where an autoscaler decides), role (whose
enrolment token it joins with; empty for authorities), grpc, http (whether it has these ports).
*/}}
{{- define "portico.deployment" -}}
{{- $values := .root.Values -}}
{{- $namespace := .root.Release.Namespace -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels: { app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/part-of: portico }
spec:
  {{- if .replicas }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels: { app.kubernetes.io/name: {{ .name }} }
  # Gateways have found the new pod before an old one stops.
  minReadySeconds: 10
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      labels: { app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/part-of: portico }
      {{- if not $values.monitoring.podMonitor }}
      annotations: { prometheus.io/scrape: "true", prometheus.io/port: "8082" }
      {{- end }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # More than PORTICO_DRAIN, the time that a stop may take.
      terminationGracePeriodSeconds: {{ add $values.drain 10 }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: { matchLabels: { app.kubernetes.io/name: {{ .name }} } }
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        seccompProfile: { type: RuntimeDefault }
      {{- with $values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: portico
          image: "{{ $values.image.repository }}:{{ $values.image.tag | default .root.Chart.AppVersion }}"
          imagePullPolicy: {{ $values.image.pullPolicy }}
          {{- if and $values.tls.enabled .grpc }}
          # The pod's name in DNS: its address with hyphens, in the headless service of all pods of the role.
          command:
            - sh
            - -ec
            - |
              PORTICO_ADVERTISE="$(echo "$POD_IP" | tr .: --).{{ .name }}-pods.{{ $namespace }}.svc:8081"
              export PORTICO_ADVERTISE
              exec portico {{ join " " .args }}
          {{- else }}
          args: {{ toJson .args }}
          {{- end }}
          env:
            {{- .env | trim | nindent 12 }}
            {{- if .role }}
            # All authorities, by the name of the headless service.
            - name: PORTICO_AUTHORITY
              value: {{ if $values.tls.enabled }}grpcs://{{ end }}portico-authority:8081
            - name: PORTICO_ENROLMENT
              valueFrom: { secretKeyRef: { name: portico-enrolment-{{ .role }}, key: token } }
            {{- end }}
            {{- if .grpc }}
            - name: POD_IP
              valueFrom: { fieldRef: { fieldPath: status.podIP } }
            {{- if not $values.tls.enabled }}
            - name: PORTICO_ADVERTISE
              value: $(POD_IP):8081
            {{- end }}
            {{- end }}
            {{- if $values.tls.enabled }}
            - name: PORTICO_TLS_CERT
              value: /etc/portico/tls/tls.crt
            - name: PORTICO_TLS_KEY
              value: /etc/portico/tls/tls.key
            - name: PORTICO_TLS_CA
              value: /etc/portico/tls/ca.crt
            {{- end }}
            - name: PORTICO_DRAIN
              value: {{ $values.drain }}s
            - name: PORTICO_ACCESS_LOG
              value: {{ $values.accessLog.lines | quote }}
            - name: PORTICO_ACCESS_LOG_SAMPLE
              value: {{ $values.accessLog.sample | quote }}
            {{- with $values.tracing.otlp }}
            - name: PORTICO_OTLP
              value: {{ . }}
            {{- end }}
            {{- range $variable, $value := $values.environment }}
            - name: {{ $variable }}
              value: {{ $value | quote }}
            {{- end }}
          ports:
            {{- if .http }}
            - { name: http, containerPort: 8080 }
            {{- end }}
            {{- if .grpc }}
            - { name: grpc, containerPort: 8081 }
            {{- end }}
            - { name: admin, containerPort: 8082 }
          startupProbe:
            httpGet: { path: /livez, port: admin }
            periodSeconds: 1
            failureThreshold: 120
          livenessProbe:
            httpGet: { path: /livez, port: admin }
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 6
          # Several times within PORTICO_DRAIN_NOTICE, while a pod that stops still takes calls.
          readinessProbe:
            httpGet: { path: /readyz, port: admin }
            periodSeconds: 1
            timeoutSeconds: 2
            failureThreshold: 2
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          volumeMounts:
            - { name: data, mountPath: /data }
            {{- if $values.tls.enabled }}
            - { name: tls, mountPath: /etc/portico/tls, readOnly: true }
            {{- end }}
            {{- if and .http $values.httpTlsSecret }}
            - { name: http-tls, mountPath: /etc/portico/http-tls, readOnly: true }
            {{- end }}
      volumes:
        - name: data
          emptyDir: { sizeLimit: 64Mi }
        {{- if $values.tls.enabled }}
        # Files, not variables: a renewed certificate is read again without a restart.
        - name: tls
          secret: { secretName: portico-tls-{{ .name }}, defaultMode: 0440 }
        {{- end }}
        {{- if and .http $values.httpTlsSecret }}
        - name: http-tls
          secret: { secretName: {{ $values.httpTlsSecret }}, defaultMode: 0440 }
        {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  labels: { app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/part-of: portico }
spec:
  maxUnavailable: 1
  selector:
    matchLabels: { app.kubernetes.io/name: {{ .name }} }
{{- end }}

{{/*
The headless services of a role with a gRPC port. The first has the pods that are ready, and SRV records for its port:
_grpc._tcp.<name>.<namespace>.svc.cluster.local. With TLS the second has a name for each pod, from its start on, because a
certificate cannot name the addresses that pods will have. Given: root, name.
*/}}
{{- define "portico.headless" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  labels: { app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/part-of: portico }
spec:
  clusterIP: None
  selector: { app.kubernetes.io/name: {{ .name }} }
  ports:
    - { name: grpc, port: 8081, targetPort: grpc }
{{- if .root.Values.tls.enabled }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}-pods
  labels: { app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/part-of: portico }
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: { app.kubernetes.io/name: {{ .name }} }
  ports:
    - { name: grpc, port: 8081, targetPort: grpc }
{{- end }}
{{- end }}
