package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// seeds are the seeds of the rounds, in order. It is a flag: SEED:ROUNDS,SEED. The last one is unlimited.
type seeds struct {
	list   []seed
	random *rand.Rand // of the current seed
}

// seed is a seed for a number of rounds.
type seed struct {
	value  uint64
	rounds int // 0 = unlimited
}

// Type is the type name in the help.
func (s *seeds) Type() string { return "seeds" }

// String returns the format that Set parses.
func (s *seeds) String() string {
	var out []string
	for _, one := range s.list {
		text := strconv.FormatUint(one.value, 10)
		if one.rounds > 0 {
			text += ":" + strconv.Itoa(one.rounds)
		}
		out = append(out, text)
	}
	return strings.Join(out, ",")
}

// Set parses the flag.
func (s *seeds) Set(text string) error {
	s.list = nil
	parts := strings.Split(text, ",")
	for i, part := range parts {
		value, rounds, limited := strings.Cut(part, ":")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("invalid seed %q: use a number of at least 0", value)
		}
		one := seed{value: n}
		if limited {
			if one.rounds, err = strconv.Atoi(rounds); err != nil || one.rounds < 1 {
				return fmt.Errorf("invalid number of rounds %q: use a number of at least 1", rounds)
			}
		}
		if last := i == len(parts)-1; last == limited {
			return fmt.Errorf("%q: all seeds but the last have a number of rounds, as in 1:4,2:4,0", text)
		}
		s.list = append(s.list, one)
	}
	return nil
}

// choose replaces 0, or a missing seed, by random ones.
func (s *seeds) choose() {
	if len(s.list) == 0 {
		s.list = []seed{{}}
	}
	for i := range s.list {
		for s.list[i].value == 0 {
			s.list[i].value = rand.Uint64() >> 32 // short enough to type
		}
	}
}

// source returns the random source of the round, counted from 0. Rounds must be requested in order.
func (s *seeds) source(round int) *rand.Rand {
	for _, one := range s.list {
		if round == 0 {
			s.random = rand.New(rand.NewPCG(one.value, 0))
		}
		if one.rounds == 0 || round < one.rounds {
			return s.random
		}
		round -= one.rounds
	}
	return s.random
}

// secret is a text that does not occur by chance.
func (s *seeds) secret() string {
	return fmt.Sprintf("hush%016x", rand.New(rand.NewPCG(s.list[0].value, 1)).Uint64())
}
