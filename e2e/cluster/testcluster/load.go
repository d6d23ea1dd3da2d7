package testcluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/templater-dev/templater/e2e/cluster/component"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// Load imports an image archive into the node, so that Pods can use its tags, unless they set imagePullPolicy: Always.
// With kwok it does nothing: any image runs.
func (c *Cluster) Load(ctx context.Context, archive string) error {
	if c.Mode != layout.Node {
		return nil
	}
	ids, err := proc.Recorded(c.RunDir())
	if err != nil {
		return err
	}
	path, err := filepath.Abs(archive)
	if err != nil {
		return err
	}
	// The socket is in the node's mount namespace, which is accessible through /proc.
	socket := fmt.Sprintf("/proc/%d/root%s", ids[initName].PID, component.ContainerdSocket)
	out, err := exec.CommandContext(ctx, c.Cache.Bin("ctr"), component.ImportArgs(socket, path)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("load %s: %w: %s", archive, err, out)
	}
	return nil
}
