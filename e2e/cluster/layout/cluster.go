package layout

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// Mode is how the nodes of a cluster are run.
type Mode string

// The modes. Auto is resolved to Node or Kwok before anything is built or started.
const (
	Auto Mode = "auto"
	Node Mode = "node" // a real kubelet with containerd, in its own namespaces; needs Linux and root
	Kwok Mode = "kwok" // plain processes; kwok simulates Pods
)

// UnmanagedLabel marks Pods that kwok ignores: it takes two Pods of the same name for one, and deletes the second one if
// it is late.
const UnmanagedLabel = "e2e.templater.dev/unmanaged"

// Addresses inside the network namespace of a real node. All clusters use the same ones, because each has its own
// namespace.
const (
	NodeName    = "node1"
	NodeIP      = "172.31.0.2"
	NodeNet     = NodeIP + "/24"
	PodCIDR     = "10.244.0.0/24"
	ServiceCIDR = "10.96.0.0/16"
	ServiceIP   = "10.96.0.1"
	Domain      = "cluster.local"
)

// Cluster describes a cluster: the choices of `up` that every later command reads. It is saved as spec.json in the
// state folder.
type Cluster struct {
	Cache       Cache
	Name        string
	Mode        Mode
	Port        int // of the API server on the host's 127.0.0.1
	EtcdPort    int // client port of etcd
	PeerPort    int // peer port of etcd
	Nodes       int // number of simulated nodes
	AuditPolicy string
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// CheckName rejects names that cannot be a folder and a cgroup.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("cluster name %q: want at most 32 of a-z, 0-9 and '-'", name)
	}
	return nil
}

// StateDir returns the state folder of the cluster called name.
func (c Cache) StateDir(name string) string { return c.Path("state", name) }

// LoadCluster reads the description of the cluster called name; the error is os.ErrNotExist if there is none.
func LoadCluster(cache Cache, name string) (*Cluster, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return ReadCluster(filepath.Join(cache.StateDir(name), "spec.json"))
}

// ReadCluster reads a description from a file.
func ReadCluster(path string) (*Cluster, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{}
	if err := json.Unmarshal(data, cluster); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return cluster, nil
}

// Save writes the description to its place in the state folder.
func (c *Cluster) Save() error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.SpecFile()+".tmp", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(c.SpecFile()+".tmp", c.SpecFile())
}

// Path joins parts below the state folder.
func (c *Cluster) Path(parts ...string) string {
	return filepath.Join(append([]string{c.Cache.StateDir(c.Name)}, parts...)...)
}

// SpecFile is the file that holds the description.
func (c *Cluster) SpecFile() string { return c.Path("spec.json") }

// PKI returns the path of a key or certificate file.
func (c *Cluster) PKI(file string) string { return c.Path("pki", file) }

// Log returns the log file of the process called name.
func (c *Cluster) Log(name string) string { return c.Path("log", name+".log") }

// RunDir is the folder that records the started processes.
func (c *Cluster) RunDir() string { return c.Path("run") }

// AuditLog is the audit log of the API server, one JSON event per line.
func (c *Cluster) AuditLog() string { return c.Path("audit.log") }

// Kubeconfig is the administrator's kubeconfig for use on the host.
func (c *Cluster) Kubeconfig() string { return c.Path("kubeconfig") }

// PublicKubeconfig is an additional path for the default cluster's kubeconfig; it is empty for other clusters.
func (c *Cluster) PublicKubeconfig() string {
	if c.Name != DefaultName {
		return ""
	}
	return c.Cache.Path("kubeconfig")
}

// Cgroup is the name of the cluster's cgroup in each hierarchy. It contains a hash of the cache folder, because another
// clone may have a cluster of the same name.
func (c *Cluster) Cgroup() string {
	clone := fnv.New32a()
	_, _ = io.WriteString(clone, c.Cache.Dir) // never fails
	return fmt.Sprintf("templater-cluster-%s-%08x", c.Name, clone.Sum32())
}

// HostServer is the URL of the API server as seen from the host.
func (c *Cluster) HostServer() string { return fmt.Sprintf("https://127.0.0.1:%d", c.Port) }

// Server is the URL of the API server as seen from the cluster's processes.
func (c *Cluster) Server() string {
	if c.Mode == Node {
		return "https://" + NodeIP + ":6443"
	}
	return c.HostServer()
}
