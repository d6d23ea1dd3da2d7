package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// options are the command line flags.
type options struct {
	seeds    seeds
	time     time.Duration
	rounds   int
	without  []string
	longest  time.Duration
	operator string
	race     bool
	replicas int
	engines  int
	name     string
	cache    string
	keep     bool
	out      io.Writer
}

func newCommand() *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "chaos",
		Short: "Break things while the operator works, and compare the cluster with a model",
		Example: `  go run ./chaos
  go run ./chaos --seed 7 --rounds 12
  go run ./chaos --time 1h --longest-fault 60s`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.out = cmd.OutOrStdout()
			return o.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.Var(&o.seeds, "seed", "random seeds; 0 = a new one, which is printed. 1:4,7 runs 4 rounds with seed 1, then the others with 7")
	flags.DurationVar(&o.time, "time", 3*time.Minute, "stop starting rounds after this time")
	flags.IntVar(&o.rounds, "rounds", 0, "maximum number of rounds; 0 = as many as fit into --time")
	flags.StringSliceVar(&o.without, "without", nil, "faults and edits of TemplateControllers to omit: 'kill etcd',break")
	flags.DurationVar(&o.longest, "longest-fault", 3*time.Second, "maximum duration of a fault")
	flags.StringVar(&o.operator, "operator", "", "the built operator; empty = build ./cmd/templater")
	flags.BoolVar(&o.race, "race", true, "build the operator with the race detector")
	flags.IntVar(&o.replicas, "replicas", 0, "number of replicas; more than one needs leader election; 0 = two with leader election, else one")
	flags.IntVar(&o.engines, "engines", 200, "number of parents whose status advances step by step, again in each round")
	flags.StringVar(&o.name, "name", "chaos", "name of the cluster, which is started and stopped")
	flags.StringVar(&o.cache, "cache", "", "folder for the cluster's programs and state (default .cache/cluster in the repository)")
	flags.BoolVar(&o.keep, "keep", false, "leave the cluster up after a failure, to look at it")
	return command
}

func (o *options) validate() error {
	for _, name := range o.without {
		if !slices.Contains(model.Features(), name) {
			return fmt.Errorf("--without %q: choose from %q", name, model.Features())
		}
	}
	if o.time <= 0 || o.longest <= 0 {
		return errors.New("--time, --longest-fault: give a duration above 0")
	}
	if o.rounds < 0 || o.replicas < 0 || o.engines < 0 {
		return errors.New("--rounds, --replicas, --engines: use a number of at least 0")
	}
	return nil
}

func (o *options) run(ctx context.Context) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	o.seeds.choose()
	fmt.Fprintf(o.out, "seed %s\n", &o.seeds)
	dir, err := os.MkdirTemp("", "templater-chaos-")
	if err != nil {
		return err
	}
	harness, err := newHarness(ctx, o, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	t := &trial{options: o, harness: harness, world: model.NewWorld(o.seeds.secret()), faults: map[model.Verb]int{}}
	failure := t.play(ctx)
	t.report()
	if failure == nil {
		return errors.Join(harness.close(), os.RemoveAll(dir))
	}
	fmt.Fprintf(o.out, "repeat with: go run ./chaos --seed %s --rounds %d --time 24h; the operator's log is %s\n", &o.seeds, t.rounds+1, harness.operators.log)
	if o.keep {
		fmt.Fprintf(o.out, "the cluster keeps running; stop it with: go run ./cluster down --name %s\n", o.name)
		return errors.Join(failure, harness.leave())
	}
	return errors.Join(failure, harness.close())
}

// mostFaults is the maximum number of faults in each of the two fault lanes of a round.
const mostFaults = 3

// trial is one run: rounds on one cluster.
type trial struct {
	*options
	harness *harness
	world   *model.World

	rounds  int // number of successful rounds
	actions int
	faults  map[model.Verb]int
	started time.Time
}

// play runs rounds until one fails or the time is up.
func (t *trial) play(ctx context.Context) error {
	t.started = time.Now()
	if err := t.harness.begin(ctx, t.world); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var tending sync.WaitGroup
	tending.Go(func() { t.harness.tend(ctx) })
	tending.Go(func() { t.harness.makeReady(ctx) })
	tending.Go(func() { t.harness.letParentsGo(ctx) })
	defer func() { cancel(); tending.Wait() }()
	drawn := model.Options{Actions: 7, Faults: mostFaults, Longest: t.longest, Replicas: len(t.harness.operators.replicas), KindEvery: 5, Without: t.without, Engines: t.engines}
	for ctx.Err() == nil && time.Since(t.started) < t.time && (t.options.rounds == 0 || t.rounds < t.options.rounds) {
		round := model.Draw(t.seeds.source(t.rounds), t.world, drawn)
		if err := t.round(ctx, round); err != nil {
			return fmt.Errorf("seed %s, round %d: %w\nThe round's actions:\n%s", &t.seeds, t.rounds+1, err, describe(round))
		}
		t.rounds++
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.harness.rest(ctx, t.world); err != nil {
		return fmt.Errorf("seed %s, after round %d, after the counts were due: %w", &t.seeds, t.rounds, err)
	}
	return nil
}

// round runs one round and checks its outcome.
func (t *trial) round(ctx context.Context, round model.Round) error {
	began := time.Now()
	if err := t.harness.perform(ctx, round); err != nil {
		return err
	}
	if round.Slow != "" {
		t.faults[model.SlowWebhook]++
	}
	for _, lane := range round.Faults {
		for _, a := range lane {
			t.faults[a.Verb]++
		}
	}
	for _, lane := range round.Users {
		t.actions += len(lane)
	}
	acted := time.Since(began)
	if err := t.harness.settle(ctx, t.world, &round, acted); err != nil {
		return err
	}
	slow := ""
	if round.Slow != "" {
		slow = ", with a " + model.SlowWebhook
	}
	fmt.Fprintf(t.out, "round %d: %.0fs of actions%s, converged after %.0fs: %d parents, %d children, %d foreign objects\n",
		t.rounds+1, acted.Seconds(), slow, time.Since(began).Seconds()-acted.Seconds(), len(t.world.Parents), len(t.world.Children()), len(t.harness.foreign))
	return nil
}

func (t *trial) report() {
	fmt.Fprintf(t.out, "%d rounds passed in %.0fs, %d actions, faults:", t.rounds, time.Since(t.started).Seconds(), t.actions)
	for _, verb := range append(slices.Clone(model.Faults), model.SlowWebhook) {
		fmt.Fprintf(t.out, " %s %d;", verb, t.faults[verb])
	}
	fmt.Fprintf(t.out, " the leader changed %d times; %d delayed writes arrived after that; the order of %d writes was checked; %d parents were released manually; the garbage collector lost %d objects; counts converged at most %.0fs after everything else\n",
		t.harness.leadership.switches, t.harness.leadership.late, t.harness.order.seen, t.harness.freed, t.harness.lost, t.harness.counting.Seconds())
}

// describe lists the actions of a round, lane by lane.
func describe(round model.Round) string {
	var out strings.Builder
	lane := func(name string, actions []model.Action) {
		for _, a := range actions {
			fmt.Fprintf(&out, "  %-8s %s\n", name, a)
		}
	}
	if round.Slow != "" {
		fmt.Fprintf(&out, "  %-8s %s for TemplateController %s, until everything else has converged\n", "fault 0", model.SlowWebhook, round.Slow)
	}
	for _, kind := range model.Kinds {
		lane(kind, round.Users[kind])
	}
	for i, actions := range round.Faults {
		lane(fmt.Sprintf("fault %d", i+1), actions)
	}
	return out.String()
}
