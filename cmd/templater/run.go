package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/operator"
)

// GC settings, unless $GOGC is set. The heap is mostly pointer-free text, so a low GOGC saves memory, also while it grows at start, at little CPU cost.
// The ballast avoids frequent collections of a small heap; it is never written, so it uses no physical memory.
const (
	gcPercent = 25
	gcBallast = 16 << 20 // bytes
)

// runFlags are the flags of templater run.
type runFlags struct {
	cluster        cli.Cluster
	workers        int
	rolloutWorkers int
	lease          leaseFlags
	requireAccount bool
	revisions      bool
	log            logFlags
	serve          serveFlags
	webhook        webhookFlags
}

func newRunCommand() *cobra.Command {
	f := runFlags{workers: 32, rolloutWorkers: 2}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run templater until it is interrupted",
		Long: `Run templater until it receives SIGINT or SIGTERM. It then finishes its work in
progress, and stops.

You can run several replicas with leader election: the replica that holds the Lease is
active, and another one takes over when it stops. Leader election is enabled by default
in a Pod. Outside a Pod, set --leader-elect-resource-namespace, or run only one replica.

The cluster is taken from --kubeconfig, $KUBECONFIG, ~/.kube/config or the in-cluster
configuration, in this order.`,
		Example: `  templater run
  templater run --kubeconfig ~/.kube/config --context test --log-level debug`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	f.cluster.AddServer(flags)
	cli.AddNumber(flags, &f.workers, "workers", 1, math.MaxInt, "number of parents that are reconciled concurrently")
	cli.AddNumber(flags, &f.rolloutWorkers, "rollout-workers", 1, math.MaxInt, "maximum number of workers that reconcile parents after a TemplateController is created or changed; also limits the sustained number of concurrent requests per tenant (all TemplateControllers whose service account is in the same namespace); higher values roll out changes faster, but put more load on the API server")
	f.lease.add(flags)
	f.lease.addSeals(flags)
	flags.BoolVar(&f.revisions, "revisions", false, "alpha: keep revisions of TemplateControllers, try new ones with dry runs, and roll them out as spec.rollout defines")
	flags.BoolVar(&f.requireAccount, "require-service-account", false, "reject TemplateControllers without spec.serviceAccountRef, so that none uses templater's own permissions")
	f.log.add(flags)
	f.serve.add(flags)
	f.webhook.add(flags)
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command) error {
	if err := f.serve.check(); err != nil {
		return err
	}
	if err := f.lease.check(); err != nil {
		return err
	}
	if err := f.webhook.check(f.lease.podNamespace); err != nil {
		return err
	}
	lease, err := f.lease.lease(cmd.Flags().Changed("leader-elect"))
	if err != nil {
		return err
	}
	seals, err := f.lease.sealNamespace()
	if err != nil {
		return err
	}
	ctx, err := f.log.setUp(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	config, err := f.cluster.Config()
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
		ballast := make([]byte, gcBallast)
		defer runtime.KeepAlive(ballast)
	}
	klog.FromContext(ctx).Info("starting", "server", config.Host, "workers", f.workers, "class", f.lease.class, "leaderElection", lease != nil)
	return operator.Run(ctx, operator.Options{
		Config: config, Workers: f.workers, RolloutWorkers: f.rolloutWorkers, ClassName: f.lease.class, Lease: lease, RequireServiceAccount: f.requireAccount, Revisions: f.revisions, SealNamespace: seals, Serve: f.serve.addresses, Webhook: f.webhook.webhook,
	})
}
