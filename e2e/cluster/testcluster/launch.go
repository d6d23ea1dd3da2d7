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

// The names under which the processes that we start are recorded.
const (
	initName    = "init"
	forwardName = "forward"
)

// launch starts the first process of the cluster, which starts the others,
// and for a real node the forwarder, which takes over the listener.
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

// StartDetached starts a process that outlives us and holds on to none of our files.
func (c *Cluster) StartDetached(command *exec.Cmd, name string) error {
	log, err := os.Create(c.Log(name))
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	command.Dir = "/"
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	recorded := proc.Record(c.RunDir(), name, command.Process.Pid)
	go command.Wait() //nolint:errcheck // it only must not stay a zombie while we live
	return recorded
}
