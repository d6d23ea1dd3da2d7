package testcluster

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// Kill kills one process of the cluster: kube-apiserver, etcd, kube-controller-manager, kube-scheduler or kwok. The
// supervisor restarts it after half a second. The error is proc.ErrGone if the process is not running at the moment.
// Processes of a real node cannot be killed.
func (c *Cluster) Kill(component string) error {
	if c.Mode == layout.Node {
		return fmt.Errorf("kill %s of cluster %s: a real node hides its processes: %w", component, c.Name, errors.ErrUnsupported)
	}
	ids, err := proc.Recorded(c.RunDir())
	if err != nil {
		return err
	}
	id, ok := ids[component]
	if !ok || component == initName {
		return fmt.Errorf("kill %s of cluster %s: there is no such component", component, c.Name)
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s of cluster %s: %w", component, c.Name, err)
	}
	return nil
}

// AwaitReady polls until the API server and its store are ready, or returns the error of ctx.
func (c *Cluster) AwaitReady(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.Close()
	return poll.Until(ctx, 50*time.Millisecond, func() error {
		return client.Get(ctx, "/readyz", nil)
	})
}
