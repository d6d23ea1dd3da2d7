// Command mutate tests the tests: it changes the code in small ways, one at a time, and tells which changes no
// test of the package notices, nor of those that --with names and that use the package.
//
// A change is a condition turned round, an operand of && or || left out, a bound moved by one, a call, an assignment, a
// return, continue or break left out, or true returned for false. All of them are compiled into one
// binary, which an environment variable has show one. Those that survive are to be
// explained in survivors.txt. Calls that log are left alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// mostSurvivors is how many of a hundred may survive.
const mostSurvivors = 5

type options struct {
	sample    int
	seed      uint64
	survivors string
	only      string
	longest   time.Duration
	with      string // folders, divided by commas
	folders   []string
}

func main() {
	var o options
	flag.IntVar(&o.sample, "sample", 0, "how many mutants of each package to try, drawn at random; 0 = all")
	flag.Uint64Var(&o.seed, "seed", 0, "draws the same sample again; 0 = a fresh one")
	flag.StringVar(&o.survivors, "survivors", "tools/mutate/survivors.txt", "the file that explains survivors")
	flag.StringVar(&o.only, "only", "", "try only mutants whose name holds this text")
	flag.DurationVar(&o.longest, "longest", 10*time.Second, "leave out tests that take longer than this alone; 0 = none")
	flag.StringVar(&o.with, "with", "", "packages whose tests are tried, too, where they use the package: their folders, divided by commas")
	flag.Parse()
	o.folders = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	good, err := run(ctx, os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !good {
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

// run tries the mutants of all packages, and reports whether few enough survive and all of these are
// explained.
func run(ctx context.Context, w io.Writer, o options) (bool, error) {
	known, err := readSurvivors(o.survivors)
	if err != nil {
		return false, err
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	good := true
	for _, folder := range o.folders {
		r, err := examine(ctx, w, o, known, folder)
		if err != nil {
			return false, err
		}
		r.print(w)
		good = good && r.good()
	}
	if o.sample > 0 {
		fmt.Fprintf(w, "seed %d\n", o.seed)
	}
	return good, nil
}

// examine tries the mutants of one package.
func examine(ctx context.Context, w io.Writer, o options, known survivors, folder string) (*report, error) {
	work, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	s, err := build(ctx, folder, strings.FieldsFunc(o.with, func(r rune) bool { return r == ',' }), work)
	if err != nil {
		return nil, err
	}
	trials, err := s.trials(ctx, o.longest)
	if err != nil {
		return nil, err
	}
	r := &report{folder: folder, known: known, all: len(s.mutants)}
	for _, m := range choose(s.mutants, o) {
		f := s.try(ctx, m, trials)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.add(w, m, f)
	}
	return r, nil
}

// choose draws the sample, and returns it in the order of the code.
func choose(all []mutant, o options) []mutant {
	out := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !matches(m, o.only) })
	if o.sample <= 0 || o.sample >= len(out) {
		return out
	}
	r := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // a sample is no secret
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	out = out[:o.sample]
	slices.SortFunc(out, func(a, b mutant) int { return a.id - b.id })
	return out
}
