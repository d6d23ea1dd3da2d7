package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestLeaseFlags(t *testing.T) {
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
		"outside a Pod, no leader election":                                     {nil, "", "/nowhere", "", ""},
		"outside a Pod with --leader-elect-resource-namespace":                  {[]string{"--leader-elect-resource-namespace", "ns"}, "", "/nowhere", "ns/templater", ""},
		"outside a Pod, --leader-elect requires a namespace":                    {[]string{"--leader-elect"}, "", "/nowhere", "", "--leader-elect: set --leader-elect-resource-namespace: templater does not run in a Pod, so the namespace of the Lease is unknown"},
		"namespace of the service account":                                      {nil, "", pod, "of-account/templater", ""},
		"POD_NAMESPACE takes precedence over the service account":               {nil, "of-pod", pod, "of-pod/templater", ""},
		"--leader-elect-resource-namespace takes precedence over POD_NAMESPACE": {[]string{"--leader-elect-resource-namespace", "ns"}, "of-pod", pod, "ns/templater", ""},
		"leader election is disabled":                                           {[]string{"--leader-elect=false", "--leader-elect-resource-namespace", "ns"}, "of-pod", pod, "", ""},
		"the Lease name contains the class":                                     {[]string{"--class-name", "b"}, "", pod, "of-account/templater-b", ""},
		"invalid class":                                                         {[]string{"--class-name", "A b"}, "", pod, "", `invalid --class-name "A b": use`},
		"class is too long":                                                     {[]string{"--class-name", strings.Repeat("a", 51)}, "", pod, "", "use at most 50 lower-case"},
		"the namespace file is unreadable":                                      {nil, "", broken, "", "cannot determine the Lease namespace, set --leader-elect-resource-namespace: "},
		"with POD_NAMESPACE, the namespace file is not read":                    {nil, "of-pod", broken, "of-pod/templater", ""},
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
						t.Errorf("two processes have the identity %s", lease.Identity)
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
