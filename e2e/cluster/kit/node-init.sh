#!/usr/bin/env bash
# The first process of a node:
#   node-init.sh <name> <address> <folder of logs> <folder of programs> <folder of images> <the node's folder> <kubeconfig>
set -eu
name=$1 address=$2 logs=$3 bin=$4 images=$5 dir=$6 kubeconfig=$7

mount --make-rshared / # so that volumes of the kubelet reach containerd
mount --bind "$dir/var" /var
mount --bind "$dir/run" /run
hostname "$name"
sysctl -qw net.ipv4.ip_forward=1
containerd --config "$dir/containerd.toml" &>"$logs/$name-containerd.log" &
until ctr -n k8s.io images list &>/dev/null; do sleep 0.1; done
for image in "$images"/*.tar; do ctr -n k8s.io images import --digests=false "$image"; done
"$bin/kube" kubelet --config="$dir/kubelet.yaml" --kubeconfig="$kubeconfig" \
  --hostname-override="$name" --node-ip="$address" &>"$logs/$name-kubelet.log" &
"$bin/kube" kube-proxy --config="$dir/proxy.yaml" &>"$logs/$name-proxy.log" &
wait; exit # on one line, so that an edit of this file does not disturb a node that runs
