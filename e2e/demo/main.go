// Command demo shows what templater does: it starts a cluster, or uses the one of $KUBECONFIG, runs the operator on it,
// applies the samples, and shows what a user would see. It leaves everything running.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
)

func main() {
	mode := flag.String("mode", string(layout.Auto), "node: a real node, needs root on Linux; kwok: a simulated node; auto: node where possible")
	name := flag.String("name", "", "name of the cluster; empty = the default one, which make cluster-down stops")
	down := flag.Bool("down", false, "remove what the demo created on the cluster of $KUBECONFIG")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := choose(ctx, testcluster.Options{Name: *name, Mode: layout.Mode(*mode), Out: os.Stdout}, *down)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // the process ends anyway
	}
}

// choose runs the demo on the cluster of $KUBECONFIG, or on its own one if there is none or a name is given.
func choose(ctx context.Context, cluster testcluster.Options, down bool) error {
	f, err := findFolders(cluster.CacheDir)
	if err != nil {
		return err
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	if cluster.Name != "" || kubeconfig == "" || f.isOurs(kubeconfig) {
		if down {
			return errors.New("--down: KUBECONFIG names no cluster that was there before the demo; make cluster-down stops the demo's own")
		}
		return run(ctx, cluster)
	}
	d, err := given(f, kubeconfig, cluster.Out)
	if err != nil {
		return err
	}
	if down {
		return d.down(ctx)
	}
	return runGiven(ctx, d, terminal())
}

// terminal is the terminal for questions, or nil.
func terminal() io.Reader {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return os.Stdin
	}
	return nil
}

// run is the demo on its own cluster. It writes to the cluster's Out.
func run(ctx context.Context, cluster testcluster.Options) error {
	f, err := findFolders(cluster.CacheDir)
	if err != nil {
		return err
	}
	if err := announce(cluster.Out, f.cache, cluster); err != nil {
		return err
	}
	d := &demo{folders: f, out: cluster.Out}
	d.say("Start a Kubernetes cluster")
	if d.place, err = own(ctx, cluster); err != nil {
		return err
	}
	return d.show(ctx)
}

// runGiven is the demo on an existing cluster. It asks for confirmation on in, unless that is nil.
func runGiven(ctx context.Context, d *demo, in io.Reader) error {
	if err := d.meet(ctx, in); err != nil {
		return err
	}
	return d.show(ctx)
}

// show runs the steps of both variants.
func (d *demo) show(ctx context.Context) error {
	for _, step := range []struct {
		title string
		do    func(context.Context) error
	}{
		{"Build templater", d.build},
		{"Install: templater has one CustomResourceDefinition of its own", d.install},
		{"Run the operator, here as a process beside the cluster", d.operate},
		{"SimpleDeployment: one object, one Pod", d.simpleDeployment},
		{"LoadTest: five Pods send requests to a service; STATE follows them", d.loadTest},
		{"Orchestr: a report of all Pods that do not run, with the ends of their logs", d.orchestr},
		{"What the operator says of its controllers", d.controllers},
	} {
		d.say("%s", step.title)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	d.farewell()
	return nil
}
