package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/build"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
)

// place is the cluster that the demo runs on, and the demo's files.
type place struct {
	kubeconfig string // as in $KUBECONFIG
	kubectl    string // path of the program
	simulated  bool   // Pods are simulated: they have no logs
	log        string // path of the operator's log
	records    string // folder that records the operator's process
	stop       string // command that stops the operator, and removes what the demo created
}

// folders are the input and output paths of the demo.
type folders struct {
	cache  layout.Cache
	root   string // of the repository
	binary string // path of the built operator
}

func findFolders(cacheDir string) (folders, error) {
	cache, err := layout.Find(cacheDir)
	return folders{cache: cache, root: filepath.Dir(filepath.Dir(cache.Source)), binary: cache.Path("templater")}, err
}

// isOurs reports whether a kubeconfig belongs to a cluster started by this repository: the demo then uses its own
// cluster.
func (f folders) isOurs(kubeconfig string) bool {
	path, err := filepath.Abs(kubeconfig)
	return err == nil && path == f.cache.Path("kubeconfig")
}

// announce prints what the demo on its own cluster is going to do, and how long it takes.
func announce(out io.Writer, cache layout.Cache, options testcluster.Options) error {
	fmt.Fprintln(out, "\n== What is going to happen")
	if _, err := testcluster.Find(options.CacheDir, options.Name); err == nil {
		fmt.Fprintln(out, "  1. The Kubernetes cluster is up already.")
	} else if err := announceBuild(out, cache, options.Mode); err != nil {
		return err
	}
	fmt.Fprint(out, `  2. Templater is built, and runs beside the cluster: a minute the first time, seconds later.
  3. Three samples are applied, and you see what becomes of them: half a minute.
Nothing is installed outside this folder. On a cluster that you have already, it is quicker: make demo KUBECONFIG=FILE
`)
	return nil
}

func announceBuild(out io.Writer, cache layout.Cache, mode layout.Mode) error {
	mode, err := build.Resolve(mode)
	if err != nil {
		return err
	}
	steps, took, err := build.Expected(cache, mode)
	if err != nil {
		return err
	}
	if steps == 0 {
		fmt.Fprintln(out, "  1. A Kubernetes cluster is started, which is built already: seconds.")
		return nil
	}
	unit := "steps"
	if steps == 1 {
		unit = "step"
	}
	fmt.Fprintf(out, "  1. A Kubernetes cluster is built from source and started: %d %s, about %s on this machine if it has nothing else to do,\n     and longer where Go modules have to be downloaded. This happens once.\n", steps, unit, took.Round(time.Minute/2))
	return nil
}

// own builds and starts the demo's own cluster.
func own(ctx context.Context, options testcluster.Options) (place, error) {
	cluster, err := testcluster.Up(ctx, options)
	if err != nil {
		return place{}, err
	}
	p := place{
		kubeconfig: cluster.Kubeconfig(), kubectl: cluster.Kubectl(), simulated: cluster.Mode != layout.Node,
		log: cluster.Log(operatorName), records: cluster.RunDir(), stop: "make cluster-down",
	}
	if cluster.PublicKubeconfig() == "" { // not the default cluster
		p.stop = "cd e2e && go run ./cluster down --name " + cluster.Name
	}
	return p, nil
}
