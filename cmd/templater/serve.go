package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/templater-dev/templater/internal/operator"
)

// serveFlags say where the operator lets itself be looked at.
type serveFlags struct{ addresses operator.Addresses }

func (f *serveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addresses.Metrics, "metrics-address", "", "HOST:PORT or :PORT that /metrics is served at, for Prometheus; empty = not served")
	flags.StringVar(&f.addresses.Health, "health-address", "", "HOST:PORT or :PORT that /healthz and /readyz are served at, for probes; empty = not served")
	flags.StringVar(&f.addresses.Pprof, "pprof-address", "", "HOST:PORT or :PORT that /debug/pprof/ is served at, for go tool pprof; it tells a lot, so localhost:6060 is a good one; empty = not served")
}

// check says which address is none.
func (f *serveFlags) check() error {
	for flag, address := range map[string]string{
		"--metrics-address": f.addresses.Metrics, "--health-address": f.addresses.Health, "--pprof-address": f.addresses.Pprof,
	} {
		if address == "" {
			continue
		}
		_, port, err := net.SplitHostPort(address)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("%s %q: give HOST:PORT or :PORT, as in :8080", flag, address)
		}
	}
	return nil
}
