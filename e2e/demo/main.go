// Command demo shows what templater does: it starts a cluster, runs the
// operator on it, applies the samples, and shows what a user would see. It
// leaves everything running.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
)

func main() {
	mode := flag.String("mode", string(layout.Auto), "node: a real node, needs root on Linux; kwok: a node that is played; auto: node where it can be had")
	name := flag.String("name", "", "name of the cluster; empty = the default one, which make cluster-down stops")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, testcluster.Options{Name: *name, Mode: layout.Mode(*mode), Out: os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with us
	}
}

// run is the demo, step by step. It writes to the cluster's Out.
func run(ctx context.Context, cluster testcluster.Options) error {
	d, err := prepare(ctx, cluster)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		title string
		do    func(context.Context) error
	}{
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
