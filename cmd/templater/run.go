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

// How often Go collects garbage, unless $GOGC says. Most of a large heap is text, which
// costs a collection nothing, so growing by half between collections saves memory
// for hardly any CPU. A small heap would be collected all the time, so it is made to
// look larger: the ballast is never touched, and takes no memory.
const (
	gcPercent = 50
	gcBallast = 16 << 20 // bytes
)

// runFlags are the flags of templater run.
type runFlags struct {
	cluster        cli.Cluster
	workers        int
	rolloutWorkers int
	lease          leaseFlags
	requireAccount bool
	log            logFlags
	serve          serveFlags
	webhook        webhookFlags
}

func newRunCommand() *cobra.Command {
	f := runFlags{workers: 32, rolloutWorkers: 2}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the operator until it is interrupted",
		Long: `Run the operator until it gets SIGINT or SIGTERM. It then finishes what is
under way, and stops.

Several replicas may run: one of them holds a Lease and works, and another takes over
when it stops. In a Pod that is so by itself. Elsewhere it takes --lease-namespace; without
it there must be one replica only.

The cluster is that of --kubeconfig, else of $KUBECONFIG, else of ~/.kube/config,
else the one that the process runs in as a Pod.`,
		Example: `  templater run
  templater run --kubeconfig ~/.kube/config --context test --log-level debug`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	f.cluster.AddServer(flags)
	cli.AddNumber(flags, &f.workers, "workers", 1, math.MaxInt, "how many parents are worked on at a time")
	cli.AddNumber(flags, &f.rolloutWorkers, "rollout-workers", 1, math.MaxInt, "how many of these at parents whose TemplateController has changed, or is new, and how many requests at a time a tenant can afford for long; more are faster, and slow down everybody else at a small API server")
	f.lease.add(flags)
	f.lease.addSeals(flags)
	flags.BoolVar(&f.requireAccount, "require-service-account", false, "reject TemplateControllers without spec.serviceAccountRef, so that none works with the operator's own rights")
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
	klog.FromContext(ctx).Info("starting", "server", config.Host, "workers", f.workers, "class", f.lease.class, "election", lease != nil)
	return operator.Run(ctx, operator.Options{
		Config: config, Workers: f.workers, RolloutWorkers: f.rolloutWorkers, ClassName: f.lease.class, Lease: lease, RequireServiceAccount: f.requireAccount, SealNamespace: seals, Serve: f.serve.addresses, Webhook: f.webhook.webhook,
	})
}
