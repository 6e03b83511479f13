{{/* Rejects values that would break the installation, with the remedy. Renders nothing. */}}
{{- define "vmcp.checks" -}}
{{- include "vmcp.checkManagement" . -}}
{{- include "vmcp.checkNamespaced" . -}}
{{- include "vmcp.checkGroup" . -}}
{{- include "vmcp.checkDefinitions" . -}}
{{- include "vmcp.checkDemo" . -}}
{{- end }}

{{/* Rejects values of a version in which the operator served the management API. */}}
{{- define "vmcp.checkManagement" -}}
{{- if and .Values.management.enabled (not (and (hasKey .Values.management "replicas") .Values.management.resources .Values.management.serviceAccount)) -}}
{{- fail "\n\nmanagement.replicas, management.resources or management.serviceAccount has no value, as --reuse-values leaves out what this version of the chart adds: upgrade with --reset-then-reuse-values\n" -}}
{{- end -}}
{{- end }}

{{/* With watchNamespaces, the chart creates no cluster-scoped objects. */}}
{{- define "vmcp.checkNamespaced" -}}
{{- if .Values.watchNamespaces -}}
{{- if .Values.crds.install -}}
{{- fail "\n\nwatchNamespaces is set, so this chart makes nothing cluster-wide: let a cluster administrator apply the definitions first,\n    helm template vmcp <chart> --show-only 'templates/crds/*.yaml' | kubectl apply --server-side -f -\nand install with --set crds.install=false\n" -}}
{{- end -}}
{{- if .Values.webhook.enabled -}}
{{- fail "\n\nwatchNamespaces is set, and a webhook is cluster-wide: install with --set webhook.enabled=false; what it would refuse is then a condition of the resource\n" -}}
{{- end -}}
{{- if and .Values.management.enabled (not .Values.management.reviewsBound) -}}
{{- fail (printf "\n\nwatchNamespaces is set, and who calls the management API is asked cluster-wide: let a cluster administrator allow it,\n    kubectl create clusterrolebinding %s-management --clusterrole=system:auth-delegator --serviceaccount=%s:%s\nand install with --set management.reviewsBound=true, or with --set management.enabled=false\n" (include "vmcp.fullname" .) .Release.Namespace (include "vmcp.management.serviceAccountName" .)) -}}
{{- end -}}
{{- if .Values.admissionPolicy.enabled -}}
{{- fail "\n\nwatchNamespaces is set, and admission policies are cluster-wide: let a cluster administrator apply them (helm template … --show-only templates/admission-policy.yaml --show-only templates/documents-policy.yaml --show-only templates/records-policy.yaml), and install with --set admissionPolicy.enabled=false\n" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Rejects another group for a release: no operator would serve the objects of the former group. */}}
{{- define "vmcp.checkGroup" -}}
{{- if .Release.IsUpgrade -}}
{{- $former := lookup "apps/v1" "Deployment" .Release.Namespace (include "vmcp.fullname" .) -}}
{{- $group := dig "metadata" "annotations" "vmcp/api-group" "" ($former | default dict) -}}
{{- if and $group (ne $group .Values.apiGroup) -}}
{{- fail (printf "\n\nthis release serves the API group %s, and apiGroup is now %s: nobody would serve the resources of %s any more. Keep it by --set apiGroup=%s, or install a second release for the new group, move the resources, and uninstall this one\n" $group .Values.apiGroup $group $group) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Rejects CRDs of another owner: they may have another version, and their removal by that owner would remove all resources. */}}
{{- define "vmcp.checkDefinitions" -}}
{{- if .Values.crds.install -}}
{{- $root := . -}}
{{- range (list "virtualmcpservers" "mcpgroups" "mcpservers" "mcpexternalauthconfigs" "mcpoidcconfigs") -}}
{{- $name := printf "%s.%s" . $root.Values.apiGroup -}}
{{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
{{- if $found -}}
{{- $annotations := $found.metadata.annotations | default dict -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if or (ne $release $root.Release.Name) (ne $namespace $root.Release.Namespace) -}}
{{- $owner := ternary (printf "the Helm release %s/%s" $namespace $release) "no Helm release" (ne $release "") -}}
{{- fail (printf "\n\nCustomResourceDefinition %s is there already and belongs to %s. Use it as it is by --set crds.install=false, or choose another group by --set apiGroup=…, or hand it over to this release:\n    kubectl label crd %s app.kubernetes.io/managed-by=Helm --overwrite\n    kubectl annotate crd %s meta.helm.sh/release-name=%s meta.helm.sh/release-namespace=%s --overwrite\n(the same for virtualmcpservers, mcpgroups, mcpservers, mcpexternalauthconfigs and mcpoidcconfigs)\n" $name $owner $name $name $root.Release.Name $root.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The providers share a pod with the endpoint (ports 4483 and 4484), and all three are forwarded to one machine. */}}
{{- define "vmcp.checkDemo" -}}
{{- with .Values.demo -}}
{{- if .enabled -}}
{{- if not .partnerIdentityProviderPort -}}
{{- fail "\n\ndemo.partnerIdentityProviderPort has no value, as --reuse-values leaves out what this version of the chart adds: upgrade with --reset-then-reuse-values\n" -}}
{{- end -}}
{{- $providers := list (int .identityProviderPort) (int .partnerIdentityProviderPort) -}}
{{- if or (eq (first $providers) (last $providers)) (has (int .port) $providers) (has 4483 $providers) (has 4484 $providers) -}}
{{- fail (printf "\n\ndemo.port is %d, demo.identityProviderPort %d and demo.partnerIdentityProviderPort %d: give each another port, and the providers none of 4483 and 4484, which are the endpoint's in their pod, for example --set demo.identityProviderPort=4480,demo.partnerIdentityProviderPort=4482\n" (int .port) (first $providers) (last $providers)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
