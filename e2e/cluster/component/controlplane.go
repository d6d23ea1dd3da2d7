// Package component defines how each program of a cluster is run: its flags and configuration files, with the reason
// for every setting that is not obvious.
package component

import (
	"fmt"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/supervise"
)

// Etcd is the store of the API server. Its data need not survive a crash of the machine, so it does not fsync.
func Etcd(c *layout.Cluster) supervise.Process {
	client := fmt.Sprintf("http://127.0.0.1:%d", c.EtcdPort)
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.PeerPort)
	return supervise.Process{Name: "etcd", Path: c.Cache.Bin("etcd"), Args: []string{
		"--data-dir=" + c.Path("etcd"),
		"--unsafe-no-fsync",
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}}
}

// APIServer logs every request to the audit log before answering it, so that tests can count requests.
func APIServer(c *layout.Cluster) supervise.Process {
	args := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.EtcdPort),
		"--service-cluster-ip-range=" + layout.ServiceCIDR,
		"--authorization-mode=Node,RBAC",
		// The second plugin is for distributions that enable it: setting blockOwnerDeletion then requires an additional
		// permission.
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
		"--allow-privileged=true",
		"--client-ca-file=" + c.PKI("ca.crt"),
		"--tls-cert-file=" + c.PKI("apiserver.crt"),
		"--tls-private-key-file=" + c.PKI("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.PKI("sa.key"),
		"--service-account-signing-key-file=" + c.PKI("sa.key"),
		"--audit-policy-file=" + c.Path("etc", "audit-policy.yaml"),
		"--audit-log-path=" + c.AuditLog(),
		"--audit-log-format=json",
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=100000", // MiB: never rotate while a test reads
	}
	args = append(args, apiServerAddress(c)...)
	return supervise.Process{Name: "kube-apiserver", Path: c.Cache.Bin("kube-apiserver"), Args: args}
}

func apiServerAddress(c *layout.Cluster) []string {
	if c.Mode != layout.Node {
		return []string{
			"--bind-address=127.0.0.1",
			"--advertise-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", c.Port),
			"--endpoint-reconciler-type=none", // loopback addresses are rejected in Endpoints
		}
	}
	return []string{
		"--secure-port=6443",
		"--advertise-address=" + layout.NodeIP,
		"--kubelet-client-certificate=" + c.PKI("apiserver-kubelet.crt"),
		"--kubelet-client-key=" + c.PKI("apiserver-kubelet.key"),
		"--kubelet-certificate-authority=" + c.PKI("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
	}
}

// ControllerManager exits unless RBAC is bootstrapped: start it only once the API server is ready.
func ControllerManager(c *layout.Cluster) supervise.Process {
	args := append(controllerFlags(c, "kube-controller-manager"),
		"--root-ca-file="+c.PKI("ca.crt"),
		"--service-account-private-key-file="+c.PKI("sa.key"),
		"--use-service-account-credentials=true",
		"--cluster-signing-cert-file="+c.PKI("ca.crt"),
		"--cluster-signing-key-file="+c.PKI("ca.key"),
		"--flex-volume-plugin-dir="+c.Path("volumeplugins"), // by default, it creates a folder on the host
		"--kube-api-qps=1000",                               // with the default of 20, startup takes 4 s longer
		"--kube-api-burst=1000",
	)
	return supervise.Process{Name: "kube-controller-manager", Path: c.Cache.Bin("kube-controller-manager"), Args: args}
}

// Scheduler places Pods. Like the ControllerManager, start it only once the API server is ready.
func Scheduler(c *layout.Cluster) supervise.Process {
	args := controllerFlags(c, "kube-scheduler")
	return supervise.Process{Name: "kube-scheduler", Path: c.Cache.Bin("kube-scheduler"), Args: args}
}

func controllerFlags(c *layout.Cluster, name string) []string {
	kubeconfig := c.PKI(name + ".kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0", // its metrics are unused, and two clusters would need two ports
	}
}
