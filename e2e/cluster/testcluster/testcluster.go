// Package testcluster brings a Kubernetes cluster up and down again. Tests
// and the cluster command use it alike.
//
//	c, err := testcluster.Up(ctx, testcluster.Options{})
//	...
//	kubeconfig, err := c.UserKubeconfig("alice", "developers")
//	...
//	err = c.Down()
package testcluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/pki"
	"github.com/templater-dev/templater/e2e/cluster/rest"
)

// Options select a cluster. The zero value is the default cluster in the best mode that the host supports.
type Options struct {
	Name        string      // empty means layout.DefaultName
	Mode        layout.Mode // empty means layout.Auto
	CacheDir    string      // empty means .cache/cluster in the repository
	Port        int         // of the API server on 127.0.0.1; 0 selects a free one
	Nodes       int         // simulated nodes; 0 means 1; a real cluster always has one
	AuditPolicy string      // file; empty means Metadata for all requests
	Out         io.Writer   // progress; nil means none
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = layout.DefaultName
	}
	if o.Mode == "" {
		o.Mode = layout.Auto
	}
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

// Cluster is a cluster that was started by this program or an earlier one.
type Cluster struct {
	*layout.Cluster
}

// ErrNotUp means that there is no such cluster, or that it is not running.
var ErrNotUp = errors.New("the cluster is not up")

// Find returns the running cluster called name; ErrNotUp if there is none.
func Find(cacheDir, name string) (*Cluster, error) {
	c, err := load(cacheDir, name)
	if err != nil {
		return nil, err
	}
	if !c.alive() {
		return nil, fmt.Errorf("cluster %s: %w: its processes have exited", c.Name, ErrNotUp)
	}
	return c, nil
}

// load returns the cluster that has a state folder, running or not.
func load(cacheDir, name string) (*Cluster, error) {
	cache, err := layout.Find(cacheDir)
	if err != nil {
		return nil, err
	}
	spec, err := layout.LoadCluster(cache, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cluster %s: %w", name, ErrNotUp)
	}
	if err != nil {
		return nil, err
	}
	return &Cluster{spec}, nil
}

// UserKubeconfig returns a kubeconfig for a user with a new client certificate. The user has the permissions that RBAC
// grants to the name and the groups.
func (c *Cluster) UserKubeconfig(name string, groups ...string) ([]byte, error) {
	authority, err := pki.LoadAuthority(c.PKI(""))
	if err != nil {
		return nil, err
	}
	pair, err := authority.Issue(pki.Subject{CommonName: name, Organizations: groups})
	if err != nil {
		return nil, err
	}
	return authority.Kubeconfig(c.HostServer(), name, pair), nil
}

// WriteUserKubeconfig writes the kubeconfig of UserKubeconfig to a file in dir
// and returns its path.
func (c *Cluster) WriteUserKubeconfig(dir, name string, groups ...string) (string, error) {
	data, err := c.UserKubeconfig(name, groups...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, url.PathEscape(name)+".kubeconfig")
	return path, os.WriteFile(path, data, 0o600)
}

// Audit returns the audit log of the API server.
func (c *Cluster) Audit() audit.Log { return audit.Log{Path: c.AuditLog()} }

// Kubectl is the path of the kubectl that was built with the cluster.
func (c *Cluster) Kubectl() string { return c.Cache.Bin("kubectl") }

func (c *Cluster) client() (*rest.Client, error) { return rest.Admin(c.HostServer(), c.PKI("")) }
