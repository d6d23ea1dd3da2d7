package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is the flags that say which cluster to work with, as those of kubectl.
type Cluster struct {
	Kubeconfig, Context string
	// Namespace is empty if it was not given.
	Namespace string
}

// Add adds the flags.
func (c *Cluster) Add(flags *pflag.FlagSet) {
	c.AddServer(flags)
	AddNamespace(flags, &c.Namespace, "namespace", "n", "namespace to use; empty = that of the context")
}

// AddServer adds the flags but for the namespace.
func (c *Cluster) AddServer(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "path to the kubeconfig file; empty = $KUBECONFIG, else ~/.kube/config, else the in-cluster configuration")
	flags.StringVar(&c.Context, "context", "", "context in the kubeconfig; empty = its current one")
}

// Config returns how to reach the cluster. The client side does not throttle: the API server's priority and fairness
// decides.
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

// InNamespace returns the namespace that was given, else that of the context, else "default".
func (c *Cluster) InNamespace() (string, error) {
	namespace, _, err := c.load().Namespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace: set --namespace: %w", err)
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
