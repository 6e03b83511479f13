{{/* Name of all objects of the installation: the name of the release, plus "vmcp" unless it contains that. */}}
{{- define "vmcp.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else if contains "vmcp" .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-vmcp" .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "vmcp.selectorLabels" -}}
app.kubernetes.io/name: vmcp-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vmcp.labels" -}}
{{ include "vmcp.selectorLabels" . }}
app.kubernetes.io/part-of: vmcp
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "vmcp.management.selectorLabels" -}}
app.kubernetes.io/name: vmcp-management
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vmcp.management.labels" -}}
{{ include "vmcp.labels" . | replace "name: vmcp-operator" "name: vmcp-management" }}
{{- end }}

{{- define "vmcp.management.serviceAccountName" -}}
{{- if .Values.management.serviceAccount.create -}}
{{- .Values.management.serviceAccount.name | default (printf "%s-management" (include "vmcp.fullname" .)) -}}
{{- else -}}
{{- required "management.serviceAccount.create is false: write management.serviceAccount.name" .Values.management.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "vmcp.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "vmcp.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.create is false: write serviceAccount.name" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{/* Reference of an image. Called with (list $ .Values.<image>). A digest takes precedence over a tag. */}}
{{- define "vmcp.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $registry := $root.Values.global.imageRegistry | default $image.registry -}}
{{- with $registry }}{{ . | trimSuffix "/" }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest -}}@{{ $image.digest }}
{{- else -}}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Names of pull secrets, as a JSON list of strings. Values may be names or {name}. */}}
{{- define "vmcp.pullSecrets" -}}
{{- $names := list -}}
{{- range (concat (.Values.global.imagePullSecrets | default list) (.Values.imagePullSecrets | default list)) -}}
{{- $names = append $names (kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name")) -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end }}

{{/* Settings that the Restricted pod security standard requires. */}}
{{- define "vmcp.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "vmcp.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end }}
