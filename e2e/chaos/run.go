package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// options are the flags.
type options struct {
	seed     uint64
	time     time.Duration
	rounds   int
	without  []string
	longest  time.Duration
	operator string
	replicas int
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
	flags.Uint64Var(&o.seed, "seed", 0, "what all actions are drawn from; 0 = a fresh one, which is printed")
	flags.DurationVar(&o.time, "time", 3*time.Minute, "no round begins after that long")
	flags.IntVar(&o.rounds, "rounds", 0, "at most that many rounds; 0 = as many as fit into --time")
	flags.StringSliceVar(&o.without, "without", nil, "faults to leave out, as they are called in the output: 'kill etcd'")
	flags.DurationVar(&o.longest, "longest-fault", 3*time.Second, "the longest time that a fault lasts")
	flags.StringVar(&o.operator, "operator", "", "the built operator; empty = build ./cmd/templater")
	flags.IntVar(&o.replicas, "replicas", 0, "how many operators run; more than one need leader election; 0 = two if they have that, else one")
	flags.StringVar(&o.name, "name", "chaos", "name of the cluster that is started, and taken down in the end")
	flags.StringVar(&o.cache, "cache", "", "folder for the cluster's programs and state (default .cache/cluster in the repository)")
	flags.BoolVar(&o.keep, "keep", false, "leave the cluster up after a failure, to look at it")
	return command
}

func (o *options) validate() error {
	for _, name := range o.without {
		if !strings.Contains(fmt.Sprintf("%q", model.Faults), fmt.Sprintf("%q", name)) {
			return fmt.Errorf("--without %q: choose from %q", name, model.Faults)
		}
	}
	if o.time <= 0 || o.longest <= 0 {
		return errors.New("--time, --longest-fault: give a duration above 0")
	}
	if o.rounds < 0 || o.replicas < 0 {
		return errors.New("--rounds, --replicas: give a number from 0")
	}
	return nil
}

func (o *options) run(ctx context.Context) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	for o.seed == 0 {
		o.seed = rand.Uint64() >> 32 // short enough to type
	}
	fmt.Fprintf(o.out, "seed %d\n", o.seed)
	dir, err := os.MkdirTemp("", "templater-chaos-")
	if err != nil {
		return err
	}
	bed, err := newBed(ctx, o, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	t := &trial{options: o, bed: bed, world: model.NewWorld(), random: rand.New(rand.NewPCG(o.seed, 0)), faults: map[model.Verb]int{}}
	failure := t.play(ctx)
	t.report()
	if failure == nil {
		return errors.Join(bed.close(), os.RemoveAll(dir))
	}
	fmt.Fprintf(o.out, "play it again: go run ./chaos --seed %d --rounds %d --time 24h; the operator's log is %s\n", o.seed, t.rounds+1, bed.operators.log)
	if o.keep {
		fmt.Fprintf(o.out, "the cluster is left up: go run ./cluster down --name %s\n", o.name)
		return errors.Join(failure, bed.leave())
	}
	return errors.Join(failure, bed.close())
}

// mostFaults is how many faults each of the two lanes of a round has at most.
const mostFaults = 3

// trial is one run: rounds on one cluster.
type trial struct {
	*options
	bed    *bed
	world  *model.World
	random *rand.Rand

	rounds  int // that went well
	actions int
	faults  map[model.Verb]int
	started time.Time
}

// play plays rounds until one fails or the time is up.
func (t *trial) play(ctx context.Context) error {
	t.started = time.Now()
	if err := t.bed.begin(ctx, t.world); err != nil {
		return err
	}
	drawn := model.Options{Actions: 7, Faults: mostFaults, Longest: t.longest, Replicas: len(t.bed.operators.replicas), KindEvery: 5}
	for _, name := range t.without {
		drawn.NoFaults = append(drawn.NoFaults, model.Verb(name))
	}
	for ctx.Err() == nil && time.Since(t.started) < t.time && (t.options.rounds == 0 || t.rounds < t.options.rounds) {
		round := model.Draw(t.random, t.world, drawn)
		if err := t.round(ctx, round); err != nil {
			return fmt.Errorf("seed %d, round %d: %w\nThe round's actions:\n%s", t.seed, t.rounds+1, err, describe(round))
		}
		t.rounds++
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.bed.rest(ctx, t.world); err != nil {
		return fmt.Errorf("seed %d, after round %d, when there was time to count: %w", t.seed, t.rounds, err)
	}
	return nil
}

// round plays one round and checks what came of it.
func (t *trial) round(ctx context.Context, round model.Round) error {
	began := time.Now()
	if err := t.bed.perform(ctx, round); err != nil {
		return err
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
	if err := t.bed.settle(ctx, t.world, acted); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "round %d: %.0fs of actions, right after %.0fs: %d parents, %d children, %d foreign objects\n",
		t.rounds+1, acted.Seconds(), time.Since(began).Seconds()-acted.Seconds(), len(t.world.Parents), len(t.world.Children()), len(t.bed.foreign))
	return nil
}

func (t *trial) report() {
	fmt.Fprintf(t.out, "%d rounds survived in %.0fs, %d actions, faults:", t.rounds, time.Since(t.started).Seconds(), t.actions)
	for _, verb := range model.Faults {
		fmt.Fprintf(t.out, " %s %d;", verb, t.faults[verb])
	}
	fmt.Fprintf(t.out, " the leader switched %d times; %d writes were held up and came in after that\n", t.bed.turns.switches, t.bed.turns.late)
}

// describe lists the actions of a round, lane by lane.
func describe(round model.Round) string {
	var out strings.Builder
	lane := func(name string, actions []model.Action) {
		for _, a := range actions {
			fmt.Fprintf(&out, "  %-8s %s\n", name, a)
		}
	}
	for _, kind := range model.Kinds {
		lane(kind, round.Users[kind])
	}
	for i, actions := range round.Faults {
		lane(fmt.Sprintf("fault %d", i+1), actions)
	}
	return out.String()
}
