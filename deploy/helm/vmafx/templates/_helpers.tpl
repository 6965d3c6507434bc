{{- define "vmafx.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "vmafx.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "vmafx.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "vmafx.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* "true" if this release has a controller, else empty. */}}
{{- define "vmafx.controller" -}}
{{- if kindIs "invalid" .Values.controller.enabled }}
{{- if .Values.operator.enabled }}true{{ end }}
{{- else if .Values.controller.enabled }}true{{ end }}
{{- end }}

{{/* Selector labels of a component's Pods. Call with (dict "root" $ "component" "…"). */}}
{{- define "vmafx.selector" -}}
app.kubernetes.io/name: {{ include "vmafx.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* All labels of a component. */}}
{{- define "vmafx.labels" -}}
{{ include "vmafx.selector" . }}
app.kubernetes.io/part-of: vmafx
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Full reference of an image. Call with (dict "root" $ "image" …). */}}
{{- define "vmafx.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ default (printf "v%s" .root.Chart.AppVersion) .image.tag }}
{{- end }}
{{- end }}

{{/* Complies with the Pod security level "restricted". */}}
{{- define "vmafx.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "vmafx.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Seconds of a duration such as 30s, 5m or 1h. */}}
{{- define "vmafx.seconds" -}}
{{- $number := regexFind "^[0-9]+" . | int -}}
{{- if hasSuffix "h" . }}{{ mul $number 3600 }}{{ else if hasSuffix "m" . }}{{ mul $number 60 }}{{ else }}{{ $number }}{{ end }}
{{- end }}

{{/* Port of an address such as host:9090, https://host or http://host:8080/path. */}}
{{- define "vmafx.port" -}}
{{- $host := regexReplaceAll "^[a-z]+://" . "" | splitList "/" | first -}}
{{- regexFind ":[0-9]+$" $host | trimPrefix ":" | default (ternary "80" "443" (hasPrefix "http://" .)) }}
{{- end }}

{{/* Affinity; by default Pods of a component prefer different nodes. Call with (dict "root" $ "component" "…" "affinity" …). */}}
{{- define "vmafx.affinity" -}}
{{- if .affinity }}
{{- toYaml .affinity }}
{{- else -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "vmafx.selector" . | nindent 10 }}
{{- end }}
{{- end }}

{{/* "true" if tokens are signed by the cluster, else empty. */}}
{{- define "vmafx.clusterKeys" -}}
{{- if hasPrefix "https://kubernetes.default." .Values.auth.jwksEndpoint }}true{{ end }}
{{- end }}

{{/* "true" if a namespace has a tenant of its own or that of its VmafxTenant, but never one that all share; else empty. */}}
{{- define "vmafx.tenantPerNamespace" -}}
{{- if has .Values.auth.tenant (list "{namespace}" "") }}true{{ end }}
{{- end }}

{{/* "true" if the operator must name the namespace of its calls, else empty. */}}
{{- define "vmafx.callsForNamespaces" -}}
{{- if or .Values.auth.tenantsSource (eq (include "vmafx.tenantPerNamespace" .) "true") }}true{{ end }}
{{- end }}

{{/* VMAFX_SHARED_POOLS */}}
{{- define "vmafx.sharedPools" -}}
{{- $pools := list }}
{{- range $home, $guests := .Values.auth.sharedPools }}
{{- $pools = append $pools (printf "%s=%s" $home (join "+" $guests)) }}
{{- end }}
{{- join "," $pools }}
{{- end }}

{{/* VMAFX_TENANT_WEIGHTS */}}
{{- define "vmafx.tenantWeights" -}}
{{- $weights := list }}
{{- range $tenant, $weight := .Values.auth.tenantWeights }}
{{- $weights = append $weights (printf "%s=%d" $tenant (int $weight)) }}
{{- end }}
{{- join "," $weights }}
{{- end }}

{{/* The subject of the operator's tokens. */}}
{{- define "vmafx.operatorSubject" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "vmafx.fullname" . }}-operator
{{- end }}

{{/* Secrets of operator and controller, which Pod templates may not use; that of the webhooks is known to the operator. */}}
{{- define "vmafx.releaseSecrets" -}}
{{- $names := list (printf "%s-operator-webhook" (include "vmafx.fullname" .)) }}
{{- $names = append $names .Values.controller.store.postgresql.secretName }}
{{- $names = append $names .Values.operator.controllerToken.secretName }}
{{- $names = append $names .Values.monitoring.metricsToken.secretName }}
{{- $names = append $names .Values.tls.secretName }}
{{- $names = append $names .Values.tls.clientAuthoritySecret }}
{{- if .Values.tls.enabled }}
{{- $names = concat $names (list (printf "%s-controller-ca" (include "vmafx.fullname" .)) (include "vmafx.tlsSecret" .)) }}
{{- end }}
{{- range concat .Values.operator.extraEnv .Values.controller.extraEnv }}
{{- $names = append $names (dig "valueFrom" "secretKeyRef" "name" "" .) }}
{{- end }}
{{- $names | compact | uniq | join "," }}
{{- end }}

{{/* ServiceAccounts and their roles at the controller. */}}
{{- define "vmafx.subjects" -}}
{{- $subjects := dict (include "vmafx.operatorSubject" .) (list "vmafx:writer") }}
{{- $namespaces := append .Values.auth.workerNamespaces .Release.Namespace | uniq }}
{{- if eq (include "vmafx.tenantPerNamespace" .) "true" }}
{{- $namespaces = list "*" }}
{{- end }}
{{- $fullname := include "vmafx.fullname" . }}
{{- range $namespaces }}
{{- $_ := set $subjects (printf "system:serviceaccount:%s:%s-worker" . $fullname) (list "vmafx:node") }}
{{- $_ := set $subjects (printf "system:serviceaccount:%s:%s-trainer" . $fullname) (list "vmafx:reader") }}
{{- end }}
{{- $lines := list }}
{{- range $subject, $roles := merge (deepCopy .Values.auth.subjects) $subjects }}
{{- $lines = append $lines (printf "%s=%s" $subject (join "+" $roles)) }}
{{- end }}
{{- join "," $lines }}
{{- end }}

{{/* "true" if the controller is reached by TLS, else empty. */}}
{{- define "vmafx.tls" -}}
{{- if .Values.tls.enabled }}true{{ end }}
{{- end }}

{{/* "true" if the operator issues the controller's certificate, else empty. */}}
{{- define "vmafx.tlsIssued" -}}
{{- if and (eq (include "vmafx.tls" .) "true") (eq (include "vmafx.controller" .) "true") .Values.operator.enabled (not .Values.tls.secretName) (not .Values.tls.certManager.enabled) }}true{{ end }}
{{- end }}

{{/* Secret with the controller's certificate. */}}
{{- define "vmafx.tlsSecret" -}}
{{- default (printf "%s-controller-tls" (include "vmafx.fullname" .)) .Values.tls.secretName }}
{{- end }}

{{/* Secret from which the operator has the controller's authorities; empty if it issues them, or trusts those of its image. */}}
{{- define "vmafx.tlsAuthoritySecret" -}}
{{- if and (eq (include "vmafx.tls" .) "true") (ne (include "vmafx.tlsIssued" .) "true") }}
{{- if eq (include "vmafx.controller" .) "true" }}{{ include "vmafx.tlsSecret" . }}{{ else }}{{ .Values.operator.controllerAddress.caSecret }}{{ end }}
{{- end }}
{{- end }}

{{/* Where the client certificates of workers and trainers come from: off, issue or mount. */}}
{{- define "vmafx.clientCertificates" -}}
{{- if or (eq .Values.tls.clientCertificates "none") (ne (include "vmafx.tls" .) "true") }}off
{{- else if and (eq (include "vmafx.tlsIssued" .) "true") (not .Values.tls.clientAuthoritySecret) }}issue
{{- else }}mount{{ end }}
{{- end }}

{{/* Host names of the controller's certificate, as a JSON list. */}}
{{- define "vmafx.tlsNames" -}}
{{- $service := printf "%s-controller" (include "vmafx.fullname" .) }}
{{- $names := list $service (printf "%s.%s" $service .Release.Namespace) (printf "%s.%s.svc" $service .Release.Namespace) (printf "%s.%s.svc.cluster.local" $service .Release.Namespace) "localhost" }}
{{- concat $names .Values.tls.dnsNames | toJson }}
{{- end }}

{{/* Rejects combinations of values that cannot work. */}}
{{- define "vmafx.check" -}}
{{- $controller := eq (include "vmafx.controller" .) "true" }}
{{- $store := .Values.controller.store }}
{{- if and $controller (gt (int .Values.controller.replicas) 1) (ne $store.backend "postgres") }}
{{- fail "controller.replicas: more than one controller needs controller.store.backend=postgres" }}
{{- end }}
{{- if and $controller (eq $store.backend "postgres") (not $store.postgresql.secretName) }}
{{- fail "controller.store.postgresql.secretName: name the Secret with the URL of the database" }}
{{- end }}
{{- if and $controller (not .Values.auth.disabled) (not .Values.auth.issuer) (ne (include "vmafx.clusterKeys" .) "true") }}
{{- fail "auth.issuer: say who signs the tokens whose keys are at auth.jwksEndpoint" }}
{{- end }}
{{- if and (eq (include "vmafx.tenantPerNamespace" .) "true") .Values.auth.workerNamespaces }}
{{- fail "auth.workerNamespaces: leave it empty if auth.tenant is {namespace} or empty, because the workers of every namespace are accepted then" }}
{{- end }}
{{- if and (not .Values.auth.tenant) (not .Values.auth.tenantsSource) }}
{{- fail "auth.tenant: name a tenant, or set auth.tenantsSource=kubernetes and create VmafxTenants" }}
{{- end }}
{{- if and .Values.auth.disabled .Values.auth.tenantsSource }}
{{- fail "auth.tenantsSource: leave it empty if auth.disabled is true, because everybody is one tenant then" }}
{{- end }}
{{- if and $controller (not .Values.auth.tenant) .Values.controller.scoringRoots }}
{{- fail "controller.scoringRoots: leave it empty if auth.tenant is, because each VmafxTenant has spec.scoring.roots" }}
{{- end }}
{{- if and $controller (not .Values.auth.tenant) .Values.controller.reportRoots }}
{{- fail "controller.reportRoots: leave it empty if auth.tenant is, because each VmafxTenant has spec.reports.roots" }}
{{- end }}
{{- if and .Values.operator.enabled (not $controller) (not .Values.operator.controllerAddress.grpc) }}
{{- fail "operator.controllerAddress: say where the controller is, or set controller.enabled=true" }}
{{- end }}
{{- if ne (empty .Values.operator.controllerAddress.grpc) (empty .Values.operator.controllerAddress.http) }}
{{- fail "operator.controllerAddress: set grpc and http together" }}
{{- end }}
{{- if and $controller .Values.tls.enabled (not .Values.operator.enabled) (not .Values.tls.secretName) (not .Values.tls.certManager.enabled) }}
{{- fail "tls: a controller without an operator needs a certificate: set tls.secretName, or tls.certManager.enabled=true, or tls.enabled=false for plain text" }}
{{- end }}
{{- if and .Values.tls.acceptPlainText (not .Values.tls.enabled) }}
{{- fail "tls.acceptPlainText: it is for the change to TLS and needs tls.enabled=true" }}
{{- end }}
{{- if and (ne .Values.tls.clientCertificates "none") (not .Values.tls.enabled) }}
{{- fail "tls.clientCertificates: certificates of clients need tls.enabled=true" }}
{{- end }}
{{- if and .Values.tls.clientAuthoritySecret (eq .Values.tls.clientCertificates "none") }}
{{- fail "tls.clientAuthoritySecret: set tls.clientCertificates to optional or required too" }}
{{- end }}
{{- if and .Values.tls.secretName .Values.tls.certManager.enabled }}
{{- fail "tls: set either tls.secretName or tls.certManager.enabled=true" }}
{{- end }}
{{- if and .Values.operator.controllerAddress.caSecret (or $controller (not .Values.tls.enabled)) }}
{{- fail "operator.controllerAddress.caSecret: it is for a controller that is not part of this release, with tls.enabled=true" }}
{{- end }}
{{- if and .Values.operator.webhook.certManager.enabled (not .Values.operator.webhook.enabled) }}
{{- fail "operator.webhook.certManager.enabled: set operator.webhook.enabled=true too" }}
{{- end }}
{{- end }}

{{/* Environment of the controllers and of the migration Job. */}}
{{- define "vmafx.controllerEnv" -}}
{{- $controller := .Values.controller -}}
{{- $account := "/var/run/secrets/kubernetes.io/serviceaccount" -}}
- { name: POD_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
- { name: VMAFX_LOG_LEVEL, value: {{ $controller.logLevel | quote }} }
- { name: VMAFX_HTTP_ADDR, value: {{ printf ":%v" $controller.httpPort | quote }} }
- { name: VMAFX_GRPC_LISTEN, value: {{ printf ":%v" $controller.grpcPort | quote }} }
- { name: VMAFX_DASHBOARD, value: {{ ne (toString $controller.dashboard) "false" | quote }} }
- { name: VMAFX_HTTP_TIMEOUTS_SHUTDOWN, value: {{ $controller.gracefulShutdown | quote }} }
- { name: VMAFX_STORE_BACKEND, value: {{ $controller.store.backend | quote }} }
{{- if eq $controller.store.backend "postgres" }}
- { name: VMAFX_DB_DSN, valueFrom: { secretKeyRef: { name: {{ $controller.store.postgresql.secretName }}, key: {{ $controller.store.postgresql.secretKey }} } } }
{{- else }}
- { name: VMAFX_DB_PATH, value: /var/lib/vmafx/vmafx-controller.db }
{{- end }}
- { name: VMAFX_STORE_LEASE_TTL, value: {{ $controller.store.leaseTTL | quote }} }
- { name: VMAFX_STORE_SESSION_TTL, value: {{ $controller.store.sessionTTL | quote }} }
{{- range $name, $variable := dict "pendingJobs" "PENDING_JOBS" "runningJobs" "RUNNING_JOBS" "storedBytes" "STORED_BYTES" "nodes" "NODES" "streams" "STREAMS" "streamsPerIdentity" "STREAMS_PER_IDENTITY" "writerPriority" "WRITER_PRIORITY" }}
{{- $limit := index $controller.limits $name }}
{{- if not (kindIs "invalid" $limit) }}
- { name: VMAFX_LIMITS_{{ $variable }}, value: {{ int64 $limit | quote }} }
{{- end }}
{{- end }}
- { name: VMAFX_STORE_SWEEP_INTERVAL, value: {{ $controller.store.sweepInterval | quote }} }
- { name: VMAFX_STORE_BACKOFF_BASE, value: {{ $controller.store.backoffBase | quote }} }
- { name: VMAFX_STORE_BACKOFF_MAX, value: {{ $controller.store.backoffMax | quote }} }
{{- with $controller.scoringRoots }}
- { name: VMAFX_SCORING_ROOTS, value: {{ join "," . | quote }} }
{{- end }}
{{- with $controller.reportRoots }}
- { name: VMAFX_REPORT_ROOTS, value: {{ join "," . | quote }} }
{{- end }}
{{- with include "vmafx.sharedPools" . }}
- { name: VMAFX_SHARED_POOLS, value: {{ . | quote }} }
{{- end }}
{{- with include "vmafx.tenantWeights" . }}
- { name: VMAFX_TENANT_WEIGHTS, value: {{ . | quote }} }
{{- end }}
{{- if .Values.auth.disabled }}
- { name: VMAFX_AUTH_DISABLED, value: "true" }
{{- else }}
- { name: VMAFX_JWKS_ENDPOINT, value: {{ .Values.auth.jwksEndpoint | quote }} }
{{- if eq (include "vmafx.clusterKeys" .) "true" }}
- { name: VMAFX_JWKS_CA_FILE, value: {{ $account }}/ca.crt }
- { name: VMAFX_JWKS_TOKEN_FILE, value: {{ $account }}/token }
{{- end }}
{{- with .Values.auth.issuer }}
- { name: VMAFX_AUTH_ISSUER, value: {{ . | quote }} }
{{- end }}
- { name: VMAFX_AUTH_AUDIENCE, value: {{ .Values.auth.audience | quote }} }
{{- with .Values.auth.tenantsSource }}
- { name: VMAFX_AUTH_TENANTS_SOURCE, value: {{ . | quote }} }
{{- end }}
{{- with .Values.auth.tenant }}
- { name: VMAFX_AUTH_DEFAULT_TENANT, value: {{ . | quote }} }
{{- end }}
- { name: VMAFX_AUTH_OPERATOR_SUBJECT, value: {{ include "vmafx.operatorSubject" . | quote }} }
- { name: VMAFX_AUTH_SUBJECTS, value: {{ include "vmafx.subjects" . | quote }} }
{{- end }}
{{- with $controller.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
