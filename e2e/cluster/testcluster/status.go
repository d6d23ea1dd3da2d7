package testcluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// Status writes the state of the cluster: paths, processes, and the health of the API server and the nodes. The error,
// if any, is the first problem found.
func (c *Cluster) Status(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "name        %s\nmode        %s\nserver      %s\nkubeconfig  %s\naudit log   %s\nlogs        %s\n",
		c.Name, c.Mode, c.HostServer(), c.Kubeconfig(), c.AuditLog(), filepath.Dir(c.Log("x")))
	ids, err := proc.Recorded(c.RunDir())
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		state := "runs"
		if !ids[name].Alive() {
			state = "is gone"
		}
		fmt.Fprintf(out, "process     %s (%d) %s\n", name, ids[name].PID, state)
	}
	if !c.alive() {
		return fmt.Errorf("cluster %s: %w", c.Name, ErrNotUp)
	}
	return c.statusOfNodes(ctx, out)
}

func (c *Cluster) statusOfNodes(ctx context.Context, out io.Writer) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.Close()
	var nodes nodeList
	if err := client.Get(ctx, "/api/v1/nodes", &nodes); err != nil {
		return fmt.Errorf("ask the API server: %w", err)
	}
	fmt.Fprintf(out, "nodes       %d, Ready %d\n", len(nodes.Items), nodes.ready())
	return nil
}
