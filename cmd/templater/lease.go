package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/kube/leader"
	"github.com/templater-dev/templater/internal/operator"
)

// leaseFlags are the flags that say which TemplateControllers to serve, and whether another
// replica may do so, too.
type leaseFlags struct {
	class     string
	elect     bool
	namespace string
	seals     string // namespace of the Secret with the keys of the seals
	// tokenFolder is where a Pod finds its service account.
	tokenFolder string
}

func (f *leaseFlags) add(flags *pflag.FlagSet) {
	f.tokenFolder = "/var/run/secrets/kubernetes.io/serviceaccount"
	flags.StringVar(&f.class, "class-name", "", "serve TemplateControllers with this spec.className; empty = those without one. Must be unique per installation")
	flags.BoolVar(&f.elect, "leader-elect", true, "enable leader election, which several replicas require; outside of a Pod, it needs --lease-namespace, and is off without it")
	cli.AddNamespace(flags, &f.namespace, "lease-namespace", "", "namespace of the Lease templater, or templater-CLASS with --class-name; empty = that of the Pod ($POD_NAMESPACE, or its service account's)")
}

// addSeals adds the flag that says where the keys of the seals are.
func (f *leaseFlags) addSeals(flags *pflag.FlagSet) {
	cli.AddNamespace(flags, &f.seals, "seal-namespace", "", "namespace of the Secret templater-seal, which holds the keys that sign children; empty = that of the Pod, or, outside of a Pod, "+operator.DefaultSealNamespace+", which is created if it is missing. All installations that serve the same TemplateControllers need the same keys")
}

// check returns what is wrong with the flags.
func (f *leaseFlags) check() error {
	if f.class == "" {
		return nil
	}
	if len(f.class) > longestClass || len(validation.IsDNS1123Label(f.class)) > 0 {
		return fmt.Errorf("invalid --class-name %q: use at most %d lower-case letters, digits and -, and no - at either end", f.class, longestClass)
	}
	return nil
}

// longestClass is how long a spec.className can be.
const longestClass = 50

// lease returns the Lease to hold, or nil when there is to be none. explicit is whether the user gave
// --leader-elect.
func (f *leaseFlags) lease(explicit bool) (*leader.Lease, error) {
	if !f.elect {
		return nil, nil
	}
	namespace, err := f.leaseNamespace()
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		if explicit {
			return nil, errors.New("--leader-elect: set --lease-namespace: templater does not run in a Pod, so the namespace of the Lease is unknown")
		}
		return nil, nil
	}
	host, err := os.Hostname() // in a Pod, its name
	if err != nil {
		return nil, fmt.Errorf("find an identity for the Lease: %w", err)
	}
	lease := &leader.Lease{Namespace: namespace, Name: "templater", Identity: host + "_" + rand.Text()}
	if f.class != "" {
		lease.Name += "-" + f.class
	}
	return lease, nil
}

// leaseNamespace returns "" outside of a Pod, unless it was given.
func (f *leaseFlags) leaseNamespace() (string, error) {
	if f.namespace != "" {
		return f.namespace, nil
	}
	namespace, err := f.podNamespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace of the Lease: set --lease-namespace: %w", err)
	}
	return namespace, nil
}

// sealNamespace returns "" outside of a Pod, unless it was given.
func (f *leaseFlags) sealNamespace() (string, error) {
	if f.seals != "" {
		return f.seals, nil
	}
	namespace, err := f.podNamespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace of the Secret with the seal keys: set --seal-namespace: %w", err)
	}
	return namespace, nil
}

// podNamespace returns "" outside of a Pod.
func (f *leaseFlags) podNamespace() (string, error) {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace, nil
	}
	text, err := os.ReadFile(f.tokenFolder + "/namespace")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}
