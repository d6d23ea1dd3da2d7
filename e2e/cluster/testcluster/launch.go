package testcluster

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/node"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// Names of the recorded processes.
const (
	initName    = "init"
	forwardName = "forward"
)

// launch starts the first process of the cluster, which starts the others, and for a real node the forwarder, which
// takes over the listener.
func (c *Cluster) launch(listener *net.TCPListener) error {
	if c.Mode == layout.Node {
		if err := node.CreateCgroups(c.Cgroup()); err != nil {
			return err
		}
	}
	first := exec.Command(c.Cache.Bin("cluster"), "init", c.SpecFile())
	first.SysProcAttr = initAttributes(c.Mode)
	if err := c.StartDetached(first, initName); err != nil || listener == nil {
		return err
	}
	socket, err := listener.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", first.Process.Pid))
	if err != nil {
		return fmt.Errorf("open the node's network namespace: %w", err)
	}
	defer network.Close()
	forward := exec.Command(c.Cache.Bin("cluster"), "forward")
	forward.ExtraFiles = []*os.File{socket, network} // node.ListenerFD, node.NetworkFD
	forward.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c.StartDetached(forward, forwardName)
}

// StartDetached starts a process that outlives us and inherits none of our files. It ends with the cluster.
func (c *Cluster) StartDetached(command *exec.Cmd, name string) error {
	return proc.StartDetached(command, proc.Place{Log: c.Log(name), Dir: c.RunDir(), Name: name})
}
