package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/templater-dev/templater/internal/operator"
)

// serveFlags say where the operator lets itself be looked at.
type serveFlags struct{ addresses operator.Addresses }

func (f *serveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addresses.Metrics, "metrics-address", "", "HOST:PORT or :PORT that /metrics is served at, for Prometheus; empty = not served")
	flags.BoolVar(&f.addresses.MetricsSecure, "metrics-secure", false, "serve /metrics over TLS, and only to those whose token the API server knows, and who may get the nonResourceURL /metrics")
	flags.StringVar(&f.addresses.MetricsCertDir, "metrics-cert-dir", "", "folder with the tls.crt and tls.key for --metrics-secure, such as a mounted Secret, taken up anew when they change; empty, or while they are not there = a self-made certificate")
	flags.StringVar(&f.addresses.Health, "health-address", "", "HOST:PORT or :PORT that /healthz and /readyz are served at, for probes; empty = not served")
	flags.StringVar(&f.addresses.Pprof, "pprof-address", "", "HOST:PORT or :PORT that /debug/pprof/ is served at, for go tool pprof; it tells a lot, so localhost:6060 is a good one; empty = not served")
}

// check says which address is none, and what does not go together.
func (f *serveFlags) check() error {
	for flag, address := range map[string]string{
		"--metrics-address": f.addresses.Metrics, "--health-address": f.addresses.Health, "--pprof-address": f.addresses.Pprof,
	} {
		if err := checkAddress(flag, address); err != nil {
			return err
		}
	}
	if f.addresses.MetricsSecure && f.addresses.Metrics == "" {
		return errors.New("--metrics-secure: say where the metrics are served: give --metrics-address, as in :8080")
	}
	if f.addresses.MetricsCertDir != "" && !f.addresses.MetricsSecure {
		return errors.New("--metrics-cert-dir: the metrics are served without TLS: give --metrics-secure, too")
	}
	return nil
}

// checkAddress says what is wrong with the address that a flag has; an empty one is for nowhere.
func checkAddress(flag, address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%s %q: give HOST:PORT or :PORT, as in :8080, with a port of at most %d", flag, address, math.MaxUint16)
	}
	return nil
}
