// Command kube is Kubernetes in one static binary, for the version that go.mod names: the oldest that is supported. What
// is not Kubernetes (etcd, CoreDNS, helm) is of ../kube.
//
// The first argument (or the name the binary is called by, through a symlink) selects the component; everything after it
// is that component's own command line, unchanged.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJob time zones without /usr/share/zoneinfo

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func() *cobra.Command{
	"kubectl":                 func() *cobra.Command { return kubectl.NewDefaultKubectlCommand() },
	"kube-apiserver":          func() *cobra.Command { return apiserver.NewAPIServerCommand() },
	"kube-controller-manager": func() *cobra.Command { return controllers.NewControllerManagerCommand() },
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kube-proxy":              func() *cobra.Command { return proxy.NewProxyCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand() },
}

func main() {
	command, ok := components[filepath.Base(os.Args[0])]
	if !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		command, ok = components[os.Args[0]]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: kube <component> [flags]")
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
