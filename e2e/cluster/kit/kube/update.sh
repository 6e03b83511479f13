#!/usr/bin/env bash
# update.sh <release of Kubernetes, e.g. 1.36.4> [<folder beside this one, e.g. kube-1.30>]: rewrites go.mod for it.
# k8s.io/kubernetes requires its staging modules at v0.0.0 and maps them by replaces, which Go ignores in a dependency.
# So this script pins each of them. Some patch releases lack one of these modules in the checksum database: take another.
set -euo pipefail
cd "$(dirname "$0")/../${2:-kube}"
k8s=v$1 staging=v0.${1#1.}
rm -f go.mod go.sum
go mod init "vmcp.test/${2:-kube}"
mod=$(go mod download -json "k8s.io/kubernetes@$k8s" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
sed -nE 's#^\t(k8s.io/[^ ]+) v0\.0\.0( //.*)?$#\1#p' "$mod" |
  sed "s#.*#-replace=&=&@$staging#" | xargs go mod edit
go mod edit -require "k8s.io/kubernetes@$k8s"
if [ $# -gt 1 ]; then
  # An older release keeps the language version of its own go.mod.
  go mod edit "-go=$(sed -n 's/^go //p' "$mod")"
else
  go mod edit -go=1.26.0 \
    -require go.etcd.io/etcd/server/v3@v3.6.13 \
    -require github.com/coredns/coredns@v1.14.7 \
    -require helm.sh/helm/v4@v4.2.4 -tool helm.sh/helm/v4/cmd/helm
fi
go mod tidy
