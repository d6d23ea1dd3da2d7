package component

import (
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/supervise"
)

// ContainerdSocket is the socket of containerd in the node's mount namespace.
const ContainerdSocket = "/run/containerd/containerd.sock"

// Containerd runs the containers.
func Containerd(c *layout.Cluster) supervise.Process {
	return supervise.Process{
		Name: "containerd",
		Path: c.Cache.Bin("containerd"),
		Args: []string{"--config", c.Path("etc", "containerd.toml")},
		Env:  []string{"PATH=" + nodePath(c)},
	}
}

// Import loads an image archive into containerd, which listens on socket.
func Import(c *layout.Cluster, socket, archive string) supervise.Process {
	return supervise.Process{
		Name: "import",
		Path: c.Cache.Bin("ctr"),
		Args: ImportArgs(socket, archive),
	}
}

// ImportArgs are the arguments of ctr that import an archive into the namespace of the kubelet.
func ImportArgs(socket, archive string) []string {
	return []string{"--address", socket, "--namespace", "k8s.io", "images", "import", archive}
}

// Kubelet runs the Pods.
func Kubelet(c *layout.Cluster) supervise.Process {
	return supervise.Process{
		Name: "kubelet",
		Path: c.Cache.Bin("kubelet"),
		Args: []string{
			"--config=" + c.Path("etc", "kubelet.yaml"),
			"--kubeconfig=" + c.PKI("kubelet.kubeconfig"),
			"--node-ip=" + layout.NodeIP,
			"--hostname-override=" + layout.NodeName,
			"--v=2",
		},
		Env: []string{"PATH=" + nodePath(c)},
	}
}

// Proxy makes Services reachable, using nft from an unpacked package.
func Proxy(c *layout.Cluster, libraries string) supervise.Process {
	return supervise.Process{
		Name: "kube-proxy",
		Path: c.Cache.Bin("kube-proxy"),
		Args: []string{"--config=" + c.Path("etc", "kube-proxy.yaml"), "--hostname-override=" + layout.NodeName},
		Env:  []string{"PATH=" + nodePath(c), "LD_LIBRARY_PATH=" + libraries},
	}
}

// DNS resolves the names of Services, on the node's address.
func DNS(c *layout.Cluster) supervise.Process {
	return supervise.Process{
		Name: "coredns",
		Path: c.Cache.Bin("coredns"),
		Args: []string{"-conf", c.Path("etc", "Corefile")},
	}
}

// Kwok simulates all nodes and their Pods, except those that a test simulates itself: see layout.UnmanagedLabel.
func Kwok(c *layout.Cluster) supervise.Process {
	return supervise.Process{
		Name: "kwok",
		Path: c.Cache.Bin("kwok"),
		Args: []string{
			"--kubeconfig=" + c.PKI("kwok.kubeconfig"),
			"--config=" + c.Cache.Path("kwok", "stages.yaml"),
			"--manage-all-nodes=true",
			"--node-lease-duration-seconds=40",
			"--cidr=10.128.0.0/9", // large enough for many Pods
			"--node-ip=" + layout.NodeIP,
			// Stages cannot exclude single Pods as long as kwok's own stages are used.
			"--disregard-status-with-label-selector=" + layout.UnmanagedLabel,
		},
	}
}

func nodePath(c *layout.Cluster) string {
	root := c.Cache.Root()
	return c.Cache.Bin() + ":" + root + "/usr/sbin:" + root + "/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}
