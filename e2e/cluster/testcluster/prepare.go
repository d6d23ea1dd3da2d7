package testcluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/templater-dev/templater/e2e/cluster/component"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/pki"
)

// prepare writes all input files of the cluster's processes.
func (c *Cluster) prepare(options Options) error {
	if err := c.checkPlace(); err != nil {
		return err
	}
	if options.AuditPolicy != "" {
		path, err := filepath.Abs(options.AuditPolicy)
		if err != nil {
			return err
		}
		c.AuditPolicy = path
	}
	for _, dir := range []string{"pki", "etc", "log", "run", "volumeplugins"} {
		if err := os.MkdirAll(c.Path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := component.WriteConfig(c.Cluster); err != nil {
		return err
	}
	if err := c.writePKI(); err != nil {
		return err
	}
	if err := c.publish(); err != nil {
		return err
	}
	return c.Save()
}

// checkPlace rejects folders that are hidden by mounts of a real node.
func (c *Cluster) checkPlace() error {
	for _, covered := range []string{"/run/", "/proc/", "/sys/", "/var/lib/", "/var/log/"} {
		if c.Mode == layout.Node && strings.HasPrefix(c.Cache.Dir, covered) {
			return fmt.Errorf("a real node cannot live in %s: set another --cache than %s", covered, c.Cache.Dir)
		}
	}
	return nil
}

// choosePorts selects the ports on the host. A real node needs one, whose open listener is returned. With kwok the
// listener is nil, because the API server itself listens, and etcd needs two more ports.
func (c *Cluster) choosePorts(port int) (*net.TCPListener, error) {
	listener, err := listen(port)
	if port == 0 {
		listener, err = listenAnywhere()
	}
	if err != nil {
		return nil, err
	}
	c.Port = portOf(listener)
	if c.Mode == layout.Node {
		return listener, nil
	}
	defer listener.Close()
	for _, target := range []*int{&c.EtcdPort, &c.PeerPort} {
		other, err := listenAnywhere()
		if err != nil {
			return nil, err
		}
		defer other.Close() // deferred, so that the ports differ
		*target = portOf(other)
	}
	return nil, nil
}

func listen(port int) (*net.TCPListener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
}

// The range of ports to choose from. Systems use other ports, usually those above 32767, for outgoing connections and
// for listeners on port 0; there, another process could get the port of a server that is not up yet, or that is being
// restarted by a test.
const firstPort, ports = 20000, 12000

// listenAnywhere listens on a free port.
func listenAnywhere() (*net.TCPListener, error) {
	var err error
	for range 100 {
		var listener *net.TCPListener
		if listener, err = listen(firstPort + rand.IntN(ports)); err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("find a free port of 127.0.0.1: %w", err)
}

func portOf(l *net.TCPListener) int { return l.Addr().(*net.TCPAddr).Port }

// account is a client of the API server; an empty group means none.
type account struct{ file, user, group string }

var accounts = []account{
	{"admin", "admin", "system:masters"},
	{"kube-controller-manager", "system:kube-controller-manager", ""},
	{"kube-scheduler", "system:kube-scheduler", ""},
	{"kube-proxy", "system:kube-proxy", ""},
	{"apiserver-kubelet", "kube-apiserver-kubelet-client", "system:masters"},
	// These two have no role in a new cluster.
	{"coredns", "system:coredns", "system:masters"},
	{"kwok", "system:kwok", "system:masters"},
}

func (c *Cluster) writePKI() error {
	authority, err := pki.NewAuthority(c.PKI(""))
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if err := c.writeAccount(authority, a); err != nil {
			return err
		}
	}
	if err := c.writeServers(authority); err != nil {
		return err
	}
	admin, err := pki.ReadPair(c.PKI(""), "admin")
	if err != nil {
		return err
	}
	return os.WriteFile(c.Kubeconfig(), authority.Kubeconfig(c.HostServer(), "admin", admin), 0o600)
}

func (c *Cluster) writeAccount(authority *pki.Authority, a account) error {
	subject := pki.Subject{CommonName: a.user}
	if a.group != "" {
		subject.Organizations = []string{a.group}
	}
	return c.writePair(authority, a.file, subject)
}

// writePair writes a certificate, its key, and a kubeconfig that uses them.
func (c *Cluster) writePair(authority *pki.Authority, file string, subject pki.Subject) error {
	pair, err := authority.Issue(subject)
	if err != nil {
		return err
	}
	if err := pair.Write(c.PKI(""), file); err != nil {
		return err
	}
	kubeconfig := authority.Kubeconfig(c.Server(), subject.CommonName, pair)
	return os.WriteFile(c.PKI(file+".kubeconfig"), kubeconfig, 0o600)
}

// writeServers writes the key pairs of the servers; the kubelet is also a client.
func (c *Cluster) writeServers(authority *pki.Authority) error {
	nodeIP := net.ParseIP(layout.NodeIP)
	err := c.writePair(authority, "apiserver", pki.Subject{
		CommonName: "kube-apiserver",
		DNSNames:   []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + layout.Domain},
		IPs:        []net.IP{net.IPv4(127, 0, 0, 1), nodeIP, net.ParseIP(layout.ServiceIP)},
	})
	if err != nil {
		return err
	}
	err = c.writePair(authority, "kubelet", pki.Subject{
		CommonName:    "system:node:" + layout.NodeName,
		Organizations: []string{"system:nodes"},
		DNSNames:      []string{layout.NodeName},
		IPs:           []net.IP{nodeIP},
	})
	if err != nil {
		return err
	}
	_, key, err := pki.NewKey() // signs service account tokens
	if err != nil {
		return err
	}
	return os.WriteFile(c.PKI("sa.key"), key, 0o600)
}
