package testcluster

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/node"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// Down stops the cluster called name and removes all its state, but not the build outputs. It reports whether there was
// anything to remove.
func Down(cacheDir, name string) (bool, error) {
	if err := layout.CheckName(name); err != nil {
		return false, err
	}
	cache, err := layout.Find(cacheDir)
	if err != nil {
		return false, err
	}
	unlock, err := lock(cache, name)
	if err != nil {
		return false, err
	}
	defer unlock()
	c, err := load(cacheDir, name)
	if errors.Is(err, ErrNotUp) {
		return false, os.RemoveAll(cache.StateDir(name))
	}
	if err != nil {
		return false, err
	}
	return true, c.remove()
}

// Down stops the cluster and removes all its state, but not the build outputs.
func (c *Cluster) Down() error {
	_, err := Down(c.Cache.Dir, c.Name)
	return err
}

// remove requires the lock on the cluster's name.
func (c *Cluster) remove() error {
	if err := c.kill(); err != nil {
		return err
	}
	if path := c.PublicKubeconfig(); path != "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.RemoveAll(c.Path()); err != nil {
		return fmt.Errorf("remove the state of %s: %w", c.Name, err)
	}
	return nil
}

// kill ends every recorded process. When PID 1 of a real node ends, the kernel kills all processes of the node and
// drops its mounts and interfaces; with kwok, the first process ends the others, and survivors are found by their
// records.
func (c *Cluster) kill() error {
	ids, err := proc.Recorded(c.RunDir())
	if err != nil {
		return err
	}
	signal := syscall.SIGTERM
	if c.Mode == layout.Node {
		signal = syscall.SIGKILL
	}
	if first, ok := ids[initName]; ok {
		if err := first.Stop(signal, 10*time.Second); err != nil {
			return err
		}
	}
	for name, id := range ids {
		if err := id.Stop(syscall.SIGKILL, 10*time.Second); err != nil {
			return fmt.Errorf("end %s: %w", name, err)
		}
	}
	if c.Mode == layout.Node {
		return node.RemoveCgroups(c.Cgroup())
	}
	return nil
}

// alive reports whether all processes that Up started are still running.
func (c *Cluster) alive() bool {
	ids, err := proc.Recorded(c.RunDir())
	if err != nil || !ids[initName].Alive() {
		return false
	}
	forward, ok := ids[forwardName]
	return !ok || forward.Alive()
}
