{{- define "vmcp.demoNamespace" -}}
{{ .Values.demo.namespace | default .Release.Namespace }}
{{- end }}

{{/* Metadata of an object of the demo. Called with (list $ <name> <weight>). The objects are hooks, as their kinds exist only
     after this chart is installed. */}}
{{- define "vmcp.demoMetadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
namespace: {{ include "vmcp.demoNamespace" $root }}
labels:
  app.kubernetes.io/part-of: vmcp-demo
  app.kubernetes.io/instance: {{ $root.Release.Name }}
annotations:
  helm.sh/hook: post-install,post-upgrade
  helm.sh/hook-weight: {{ index . 2 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation
{{- end }}

{{/* URL of the endpoint, for both the pod and a browser behind a port-forward. */}}
{{- define "vmcp.demoEndpoint" -}}
http://127.0.0.1:{{ .Values.demo.port }}
{{- end }}

{{/* Identity providers in the order of a login, also at 127.0.0.1. */}}
{{- define "vmcp.demoProviders" -}}
- { name: company, port: {{ .Values.demo.identityProviderPort }}, scopes: [openid, profile, email] }
- { name: partner, port: {{ .Values.demo.partnerIdentityProviderPort }}, scopes: [openid, profile] }
{{- end }}

{{/* Names of the demo's objects by plural, in the order of their removal. */}}
{{- define "vmcp.demoObjects" -}}
virtualmcpservers: [demo]
mcpservers: [demo-everything, demo-memory, demo-tickets, demo-whoami]
mcpexternalauthconfigs: [demo-partner-token, demo-user-token]
mcpgroups: [demo]
{{- end }}

{{- define "vmcp.demoCleanUpMetadata" -}}
{{- $root := index . 0 -}}
name: vmcp-demo-clean-up
namespace: {{ include "vmcp.demoNamespace" $root }}
labels: {{- include "vmcp.labels" $root | nindent 2 }}
annotations:
  helm.sh/hook: {{ index . 1 }}
  helm.sh/hook-weight: {{ index . 2 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end }}
