package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestLease(t *testing.T) {
	pod := t.TempDir()
	if err := os.WriteFile(filepath.Join(pod, "namespace"), []byte("of-account\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.Mkdir(filepath.Join(broken, "namespace"), 0o700); err != nil {
		t.Fatal(err)
	}
	for why, c := range map[string]struct {
		args        []string
		env, folder string
		want, fault string
	}{
		"outside of a Pod there is no election":                {nil, "", "/nowhere", "", ""},
		"unless there is a namespace":                          {[]string{"--lease-namespace", "ns"}, "", "/nowhere", "ns/templater", ""},
		"which is asked for when the election is":              {[]string{"--leader-elect"}, "", "/nowhere", "", "--leader-elect: set --lease-namespace: templater does not run in a Pod, so the namespace of the Lease is unknown"},
		"a Pod has one":                                        {nil, "", pod, "of-account/templater", ""},
		"a Pod may say which":                                  {nil, "of-pod", pod, "of-pod/templater", ""},
		"the flag is asked first":                              {[]string{"--lease-namespace", "ns"}, "of-pod", pod, "ns/templater", ""},
		"it can be switched off":                               {[]string{"--leader-elect=false", "--lease-namespace", "ns"}, "of-pod", pod, "", ""},
		"a class has its own":                                  {[]string{"--class-name", "b"}, "", pod, "of-account/templater-b", ""},
		"a class is a name":                                    {[]string{"--class-name", "A b"}, "", pod, "", `invalid --class-name "A b": use`},
		"a short one":                                          {[]string{"--class-name", strings.Repeat("a", 51)}, "", pod, "", "use at most 50 lower-case"},
		"what cannot be read is no reason to go without":       {nil, "", broken, "", "find the namespace of the Lease: set --lease-namespace: "},
		"what cannot be read is of no interest with a setting": {nil, "of-pod", broken, "of-pod/templater", ""},
	} {
		t.Run(why, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", c.env)
			var f leaseFlags
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			f.add(flags)
			f.tokenFolder = c.folder
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			err := f.check()
			got := ""
			if err == nil {
				lease, failure := f.lease(flags.Changed("leader-elect"))
				if err = failure; lease != nil {
					got = lease.Namespace + "/" + lease.Name
					if again, _ := f.lease(false); again.Identity == lease.Identity {
						t.Errorf("two processes call themselves %s", lease.Identity)
					}
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got error %v, want %q", err, c.fault)
			}
		})
	}
}
