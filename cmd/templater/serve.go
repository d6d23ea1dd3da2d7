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

// serveFlags are the addresses of the metrics, health and pprof endpoints.
type serveFlags struct{ addresses operator.Addresses }

func (f *serveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addresses.Metrics, "metrics-bind-address", "", "listen address of /metrics, as HOST:PORT or :PORT; empty = disabled")
	flags.BoolVar(&f.addresses.MetricsSecure, "metrics-secure", false, "serve /metrics over TLS, with authentication by TokenReview and authorization by SubjectAccessReview (get on the nonResourceURL /metrics)")
	flags.StringVar(&f.addresses.MetricsCertDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key for --metrics-secure, such as a mounted Secret, reloaded when they change; if empty, or while the files do not exist, a self-signed certificate is used")
	flags.StringVar(&f.addresses.Health, "health-probe-bind-address", "", "listen address of /healthz and /readyz for probes, as HOST:PORT or :PORT; empty = disabled")
	flags.StringVar(&f.addresses.Pprof, "pprof-bind-address", "", "listen address of /debug/pprof/, as HOST:PORT or :PORT; it exposes internals, so prefer localhost:6060; empty = disabled")
}

// check validates the flags.
func (f *serveFlags) check() error {
	for flag, address := range map[string]string{
		"--metrics-bind-address": f.addresses.Metrics, "--health-probe-bind-address": f.addresses.Health, "--pprof-bind-address": f.addresses.Pprof,
	} {
		if err := checkAddress(flag, address); err != nil {
			return err
		}
	}
	if f.addresses.MetricsSecure && f.addresses.Metrics == "" {
		return errors.New("--metrics-secure requires --metrics-bind-address, as in :8080")
	}
	if f.addresses.MetricsCertDir != "" && !f.addresses.MetricsSecure {
		return errors.New("--metrics-cert-dir requires --metrics-secure")
	}
	return nil
}

// checkAddress validates the listen address in a flag; it can be empty.
func checkAddress(flag, address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%s %q: use HOST:PORT or :PORT, as in :8080, with a port of at most %d", flag, address, math.MaxUint16)
	}
	return nil
}
