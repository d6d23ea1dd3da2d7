package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/build"
	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// Up builds what is missing, starts the cluster and waits until Pods can be created and run. A cluster that is already
// up is returned unchanged; leftovers of one that died are removed first.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	options = options.withDefaults()
	if err := layout.CheckName(options.Name); err != nil {
		return nil, err
	}
	cache, err := layout.Find(options.CacheDir)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(cache, options.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c, err := running(cache, options); c != nil || err != nil {
		return c, errors.Join(err, c.confirm(ctx))
	}
	mode, err := build.Resolve(options.Mode)
	if err != nil {
		return nil, err
	}
	if err := build.Build(ctx, cache, build.Options{Mode: mode, Out: options.Out}); err != nil {
		return nil, err
	}
	options.Mode = mode
	return start(ctx, cache, options)
}

// running returns the cluster if it is up, and nil after removing one that is not.
func running(cache layout.Cache, options Options) (*Cluster, error) {
	spec, err := layout.LoadCluster(cache, options.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, os.RemoveAll(cache.StateDir(options.Name))
	}
	if err != nil {
		return nil, err
	}
	c := &Cluster{spec}
	if !c.alive() {
		fmt.Fprintf(options.Out, "cluster %s has exited; removing the rest of it\n", c.Name)
		return nil, c.remove()
	}
	if options.Mode != layout.Auto && options.Mode != c.Mode {
		return nil, fmt.Errorf("cluster %s is up in mode %s: take it down first, or use another name", c.Name, c.Mode)
	}
	fmt.Fprintf(options.Out, "cluster %s is up already\n", c.Name)
	return c, nil
}

// start starts the cluster. If that fails, it keeps the state folder for its logs, but no process.
func start(ctx context.Context, cache layout.Cache, options Options) (*Cluster, error) {
	started := time.Now()
	c := &Cluster{&layout.Cluster{
		Cache: cache, Name: options.Name, Mode: options.Mode, Nodes: options.Nodes,
		EtcdPort: 2379, PeerPort: 2380,
	}}
	listener, err := c.choosePorts(options.Port)
	if err != nil {
		return nil, err
	}
	if listener != nil {
		defer listener.Close()
	}
	if err := c.prepare(options); err != nil {
		return nil, err
	}
	if err := c.launch(listener); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	if err := c.waitUp(ctx, options.Out, started); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; see the logs in %s", err, c.Path("log")), c.kill())
	}
	return c, nil
}

// confirm waits for a cluster whose start was interrupted. A nil cluster is fine.
func (c *Cluster) confirm(ctx context.Context) error {
	if c == nil {
		return nil
	}
	return c.waitUp(ctx, io.Discard, time.Now())
}

// publish writes the kubeconfig of the default cluster to an easy-to-find path.
func (c *Cluster) publish() error {
	path := c.PublicKubeconfig()
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// lock waits for an exclusive lock on a cluster's name.
func lock(cache layout.Cache, name string) (func(), error) {
	return layout.Lock(cache.Path("locks", name))
}
