package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/rest"
)

const upLimit = 3 * time.Minute

// nodeList holds the decoded fields of a NodeList.
type nodeList struct {
	Items []struct {
		Metadata struct{ Name string }
		Status   struct {
			Conditions []struct{ Type, Status string }
		}
	}
}

func (l nodeList) ready() (ready int) {
	for _, n := range l.Items {
		for _, condition := range n.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" {
				ready++
			}
		}
	}
	return ready
}

// waitUp returns once every node is Ready and Pods are admitted.
func (c *Cluster) waitUp(ctx context.Context, out io.Writer, started time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, upLimit)
	defer cancel()
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.Close()
	steps := []struct {
		what  string
		check func() error
	}{
		{"the API server is ready", func() error { return client.Get(ctx, "/readyz", nil) }},
		{"the nodes are there", func() error { return c.createNodes(ctx, client) }},
		{"the nodes are Ready", func() error { return c.checkNodes(ctx, client) }},
		{"the default ServiceAccount exists, Pods are admitted", func() error {
			return client.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
		}},
	}
	for _, step := range steps {
		if err := c.poll(ctx, step.check); err != nil {
			return fmt.Errorf("wait until %s: %w", step.what, err)
		}
		fmt.Fprintf(out, "%5.1fs  %s\n", time.Since(started).Seconds(), step.what)
	}
	return nil
}

// poll repeats check until it succeeds, the timeout expires, or the cluster has died.
func (c *Cluster) poll(ctx context.Context, check func() error) error {
	return poll.Until(ctx, 50*time.Millisecond, func() error {
		err := check()
		if err != nil && !c.alive() {
			return poll.Stop(errors.New("its first process has ended"))
		}
		return err
	})
}

func (c *Cluster) checkNodes(ctx context.Context, client *rest.Client) error {
	var nodes nodeList
	if err := client.Get(ctx, "/api/v1/nodes", &nodes); err != nil {
		return err
	}
	if ready := nodes.ready(); ready < c.Nodes {
		return fmt.Errorf("%d of %d nodes are Ready", ready, c.Nodes)
	}
	return nil
}

// createNodes creates the simulated nodes; a kubelet registers its own.
func (c *Cluster) createNodes(ctx context.Context, client *rest.Client) error {
	if c.Mode == layout.Node {
		return nil
	}
	for n := range c.Nodes {
		name := fmt.Sprintf("node%d", n+1)
		err := client.Create(ctx, "/api/v1/nodes", map[string]any{
			"apiVersion": "v1",
			"kind":       "Node",
			"metadata": map[string]any{"name": name, "labels": map[string]string{
				"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": runtime.GOARCH, "type": "kwok",
			}},
		})
		var status *rest.StatusError
		if errors.As(err, &status) && status.Code == http.StatusConflict {
			continue // created by an earlier attempt
		}
		if err != nil {
			return fmt.Errorf("create node %s: %w", name, err)
		}
	}
	return nil
}
