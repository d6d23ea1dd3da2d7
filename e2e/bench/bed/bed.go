// Package bed prepares the cluster that the contenders run on, with its CRDs and RBAC, and creates, updates and deletes
// the parents.
package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/templater-dev/templater/e2e/bench/observe"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
)

// User is the user name of both contenders.
const User = "templater-bench"

// Options select the cluster to use.
type Options struct {
	Name       string    // of the cluster to start
	Cache      string    // cache folder of that cluster; empty means the default
	Kubeconfig string    // of an existing cluster to use instead
	Dir        string    // for files of this run
	Root       string    // of the repository
	Out        io.Writer // progress
}

// Bed is a cluster that is ready to use.
type Bed struct {
	// Cluster is nil for an existing cluster: there is no audit log, Pods are not simulated, and its processes are not
	// visible.
	Cluster *testcluster.Cluster
	// Kubeconfig is the kubeconfig of the contenders.
	Kubeconfig string
	// Observer lists and watches objects.
	Observer *observe.Client

	started bool // the cluster was started for this run
	touched bool // the cluster holds objects that Close must remove
	root    string
	out     io.Writer
	config  *rest.Config // of the administrator
	dynamic dynamic.Interface
}

// Make starts the cluster unless an existing one is given, and installs what the contenders need. On failure it removes
// everything again.
func Make(ctx context.Context, o Options) (*Bed, error) {
	b := &Bed{root: o.Root, out: o.Out}
	if err := b.make(ctx, o); err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

func (b *Bed) make(ctx context.Context, o Options) error {
	if err := b.up(ctx, o); err != nil {
		return err
	}
	b.config.QPS = -1
	b.config.UserAgent = "bench"
	var err error
	if b.dynamic, err = dynamic.NewForConfig(b.config); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if b.Observer, err = observe.NewClient(b.config); err != nil {
		return err
	}
	if err := b.checkFree(ctx); err != nil {
		return err
	}
	b.touched = true
	return b.install(ctx)
}

func (b *Bed) up(ctx context.Context, o Options) error {
	if o.Kubeconfig != "" {
		return b.foreign(o)
	}
	_, err := testcluster.Find(o.Cache, o.Name)
	b.started = err != nil
	b.Cluster, err = testcluster.Up(ctx, testcluster.Options{Name: o.Name, CacheDir: o.Cache, Mode: layout.Kwok, Out: o.Out})
	if err != nil {
		return err
	}
	if b.Kubeconfig, err = b.Cluster.WriteUserKubeconfig(o.Dir, User); err != nil {
		return err
	}
	b.config, err = clientcmd.BuildConfigFromFlags("", b.Cluster.Kubeconfig())
	return err
}

// foreign uses an existing cluster, where the contenders impersonate User.
func (b *Bed) foreign(o Options) error {
	var err error
	if b.config, err = clientcmd.BuildConfigFromFlags("", o.Kubeconfig); err != nil {
		return fmt.Errorf("--kubeconfig %s: %w", o.Kubeconfig, err)
	}
	config, err := clientcmd.LoadFromFile(o.Kubeconfig)
	if err == nil {
		err = clientcmdapi.FlattenConfig(config)
	}
	if err != nil {
		return fmt.Errorf("--kubeconfig %s: %w", o.Kubeconfig, err)
	}
	for _, auth := range config.AuthInfos {
		auth.Impersonate = User
	}
	b.Kubeconfig = filepath.Join(o.Dir, "kubeconfig")
	return clientcmd.WriteToFile(*config, b.Kubeconfig)
}

// Close removes what was installed, and stops the cluster if it was started for this run.
func (b *Bed) Close(ctx context.Context) error {
	if b.Cluster != nil && b.started {
		return b.Cluster.Down()
	}
	if !b.touched {
		return nil
	}
	return b.uninstall(ctx)
}

// Say reports progress.
func (b *Bed) Say(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// Version is the version of the API server, "" if unknown.
func (b *Bed) Version() string {
	client, err := discovery.NewDiscoveryClientForConfig(b.config)
	if err != nil {
		return ""
	}
	version, err := client.ServerVersion()
	if err != nil {
		return ""
	}
	return version.GitVersion
}
