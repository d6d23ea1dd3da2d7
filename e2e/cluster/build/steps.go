package build

import (
	"context"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// Versions that are written into the programs; the modules' go.mod determine what is actually built.
const (
	kubernetesVersion = "1.36.3"
	containerdVersion = "2.4.2"
	runcVersion       = "1.5.2"
)

// step builds some outputs.
type step struct {
	name    string
	why     string
	took    time.Duration // with two cores, modules downloaded, and an empty build cache
	inputs  []string      // patterns of files below mods/ whose content counts
	version string        // increment it when run itself changes
	outputs []string      // relative to the cache folder
	always  bool          // cheap, and a stamp cannot detect changes: run every time
	run     func(context.Context, layout.Cache, *progress) error
}

func steps(mode layout.Mode) []step {
	all := []step{clusterStep, kubernetesStep(mode)}
	if mode == layout.Kwok {
		return append(all, kwokStep)
	}
	return append(all, debsStep, containerdStep, runcStep, cniStep, corednsStep, imagesStep)
}

var clusterStep = step{
	name:    "cluster",
	why:     "this program: it becomes the node's first process",
	took:    5 * time.Second,
	outputs: []string{"bin/cluster"},
	always:  true,
	run: func(ctx context.Context, cache layout.Cache, p *progress) error {
		return goBuild{dir: cache.Source, out: "bin/cluster", packages: []string{"."}}.run(ctx, cache, p)
	},
}

// kubernetesStep builds the same programs for both modes, plus those that only a real node runs (they build on Linux
// only).
func kubernetesStep(mode layout.Mode) step {
	const commands = "k8s.io/kubernetes/cmd/"
	s := step{
		name:    "kubernetes-" + string(mode),
		why:     "etcd, the control plane, kubectl",
		took:    210 * time.Second,
		inputs:  []string{"kubernetes/go.*"},
		version: kubernetesVersion + "/1",
		outputs: []string{"bin/etcd", "bin/kube-apiserver", "bin/kube-controller-manager", "bin/kube-scheduler", "bin/kubectl"},
	}
	packages := []string{"go.etcd.io/etcd/server/v3", commands + "kube-apiserver", commands + "kube-controller-manager", commands + "kube-scheduler", commands + "kubectl"}
	if mode == layout.Node {
		s.why += ", kubelet, kube-proxy"
		s.took = 235 * time.Second
		s.outputs = append(s.outputs, "bin/kubelet", "bin/kube-proxy")
		packages = append(packages, commands+"kubelet", commands+"kube-proxy")
	}
	s.run = func(ctx context.Context, cache layout.Cache, p *progress) error {
		const v = "-X k8s.io/component-base/version."
		flags := v + "gitVersion=v" + kubernetesVersion + " " + v + "gitMajor=1 " + v + "gitMinor=36 " + v + "gitTreeState=clean"
		build := goBuild{dir: cache.Module("kubernetes"), out: "bin/", ldflags: flags, packages: packages}
		if err := build.run(ctx, cache, p); err != nil {
			return err
		}
		return rename(cache.Bin("server"), cache.Bin("etcd")) // go build names it after its folder
	}
	return s
}

var containerdStep = step{
	name:    "containerd",
	why:     "runs the containers of the node",
	took:    40 * time.Second,
	inputs:  []string{"containerd/go.*"},
	version: containerdVersion + "/1",
	outputs: []string{"bin/containerd", "bin/containerd-shim-runc-v2", "bin/ctr"},
	run: func(ctx context.Context, cache layout.Cache, p *progress) error {
		return goBuild{
			dir: cache.Module("containerd"), out: "bin/", packages: []string{"tool"},
			tags:    "no_btrfs no_devmapper no_zfs no_aufs no_tracing",
			ldflags: "-X github.com/containerd/containerd/v2/version.Version=" + containerdVersion,
		}.run(ctx, cache, p)
	},
}

var cniStep = step{
	name:    "cni",
	why:     "plugins that give Pods their network",
	took:    5 * time.Second,
	inputs:  []string{"cni/go.*"},
	version: "1",
	outputs: []string{"bin/cni/bridge", "bin/cni/host-local", "bin/cni/loopback"},
	run: func(ctx context.Context, cache layout.Cache, p *progress) error {
		return goBuild{dir: cache.Module("cni"), out: "bin/cni/", packages: []string{"tool"}}.run(ctx, cache, p)
	},
}

var corednsStep = step{
	name:    "coredns",
	why:     "names of Services",
	took:    60 * time.Second,
	inputs:  []string{"coredns/go.*", "coredns/*.go"},
	version: "1",
	outputs: []string{"bin/coredns"},
	run: func(ctx context.Context, cache layout.Cache, p *progress) error {
		return goBuild{dir: cache.Module("coredns"), out: "bin/coredns", packages: []string{"."}}.run(ctx, cache, p)
	},
}
