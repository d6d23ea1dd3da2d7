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

// leaseFlags are the flags for the class name, leader election and the seal keys.
type leaseFlags struct {
	class     string
	elect     bool
	namespace string
	seals     string // namespace of the Secret with the keys of the seals
	// tokenFolder is the directory with the service account token and namespace of the Pod.
	tokenFolder string
}

func (f *leaseFlags) add(flags *pflag.FlagSet) {
	f.tokenFolder = "/var/run/secrets/kubernetes.io/serviceaccount"
	flags.StringVar(&f.class, "class-name", "", "serve TemplateControllers with this spec.className; if empty, serve those without spec.className. Each installation in a cluster needs a different class name")
	flags.BoolVar(&f.elect, "leader-elect", true, "enable leader election, which is required to run more than one replica; outside a Pod, it is disabled unless --leader-elect-resource-namespace is set")
	cli.AddNamespace(flags, &f.namespace, "leader-elect-resource-namespace", "", "namespace of the Lease (named templater, or templater-CLASS with --class-name); defaults to the namespace of the Pod ($POD_NAMESPACE, or that of its service account)")
}

// addSeals adds the flag for the namespace of the seal keys.
func (f *leaseFlags) addSeals(flags *pflag.FlagSet) {
	cli.AddNamespace(flags, &f.seals, "seal-namespace", "", "namespace of the Secret templater-seal, which holds the keys that sign children; defaults to the Pod's namespace or, outside a Pod, to "+operator.DefaultSealNamespace+", which is created if it does not exist. Installations that serve the same TemplateControllers must share the keys")
}

// check validates the flags.
func (f *leaseFlags) check() error {
	if f.class == "" {
		return nil
	}
	if len(f.class) > maxClassLength || len(validation.IsDNS1123Label(f.class)) > 0 {
		return fmt.Errorf("invalid --class-name %q: use at most %d lower-case letters, digits and -, and no - at either end", f.class, maxClassLength)
	}
	return nil
}

// maxClassLength is the maximum length of spec.className.
const maxClassLength = 50

// lease returns the Lease for leader election, or nil if leader election is disabled. explicit reports whether --leader-elect is set.
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
			return nil, errors.New("--leader-elect: set --leader-elect-resource-namespace: templater does not run in a Pod, so the namespace of the Lease is unknown")
		}
		return nil, nil
	}
	host, err := os.Hostname() // the name of the Pod, if it runs in a Pod
	if err != nil {
		return nil, fmt.Errorf("get hostname for the leader election identity: %w", err)
	}
	lease := &leader.Lease{Namespace: namespace, Name: "templater", Identity: host + "_" + rand.Text()}
	if f.class != "" {
		lease.Name += "-" + f.class
	}
	return lease, nil
}

// leaseNamespace returns --leader-elect-resource-namespace or else the namespace of the Pod; "" outside a Pod.
func (f *leaseFlags) leaseNamespace() (string, error) {
	if f.namespace != "" {
		return f.namespace, nil
	}
	namespace, err := f.podNamespace()
	if err != nil {
		return "", fmt.Errorf("cannot determine the Lease namespace, set --leader-elect-resource-namespace: %w", err)
	}
	return namespace, nil
}

// sealNamespace returns --seal-namespace or else the namespace of the Pod; "" outside a Pod.
func (f *leaseFlags) sealNamespace() (string, error) {
	if f.seals != "" {
		return f.seals, nil
	}
	namespace, err := f.podNamespace()
	if err != nil {
		return "", fmt.Errorf("cannot determine the namespace of the Secret with the seal keys, set --seal-namespace: %w", err)
	}
	return namespace, nil
}

// podNamespace returns the namespace of the Pod, or "" outside a Pod.
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
