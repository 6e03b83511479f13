{{- define "vmcp.demoNamespace" -}}
{{ .Values.demo.namespace | default .Release.Namespace }}
{{- end }}

{{/* Metadata of an object of the demo. Called with (list $ <name> <weight>). The kinds are defined by this very chart, so these
     objects can only be made once it is installed: as hooks. */}}
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

{{/* Endpoint and identity provider, as the pod and a browser behind a port-forward both call them. */}}
{{- define "vmcp.demoEndpoint" -}}
http://127.0.0.1:{{ .Values.demo.port }}
{{- end }}
{{- define "vmcp.demoProvider" -}}
http://127.0.0.1:{{ .Values.demo.identityProviderPort }}
{{- end }}

{{/* Names of what the demo is made of, by plural, in the order in which it goes. */}}
{{- define "vmcp.demoObjects" -}}
virtualmcpservers: [demo]
mcpservers: [demo-everything, demo-memory, demo-whoami]
mcpexternalauthconfigs: [demo-user-token]
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
