package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster has the flags that select a cluster, as in kubectl.
type Cluster struct {
	Kubeconfig, Context string
	// Namespace is empty if the flag is not set.
	Namespace string
}

// Add adds the flags.
func (c *Cluster) Add(flags *pflag.FlagSet) {
	c.AddServer(flags)
	AddNamespace(flags, &c.Namespace, "namespace", "n", "namespace to use; defaults to the namespace of the kubeconfig context")
}

// AddServer adds the flags except the namespace.
func (c *Cluster) AddServer(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "path to the kubeconfig file; defaults to $KUBECONFIG, ~/.kube/config or the in-cluster configuration, in this order")
	flags.StringVar(&c.Context, "context", "", "kubeconfig context to use; defaults to the current context")
}

// Config returns the client configuration. It disables client-side throttling: API priority and fairness
// applies.
func (c *Cluster) Config() (*rest.Config, error) {
	file := c.load()
	if raw, err := file.RawConfig(); err == nil && c.Context != "" && raw.Contexts[c.Context] == nil {
		return nil, fmt.Errorf("--context %q does not exist: see kubectl config get-contexts", c.Context)
	}
	config, err := file.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster configured: set --kubeconfig or KUBECONFIG: %w", err)
	}
	config.QPS, config.Burst = -1, -1
	config.UserAgent = "templater"
	return config, nil
}

// InNamespace returns the namespace of the flag, else of the context, else "default".
func (c *Cluster) InNamespace() (string, error) {
	namespace, _, err := c.load().Namespace()
	if err != nil {
		return "", fmt.Errorf("cannot determine the namespace, set --namespace: %w", err)
	}
	return namespace, nil
}

func (c *Cluster) load() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	overrides.Context.Namespace = c.Namespace
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}
