//go:build unix

package node

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/component"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/rest"
	"github.com/templater-dev/templater/e2e/cluster/supervise"
)

// Run starts the processes of the cluster described in the file and keeps them running until it is signaled to
// terminate. A real node is prepared first.
func Run(specFile string) error {
	cluster, err := layout.ReadCluster(specFile)
	if err != nil {
		return err
	}
	if cluster.Mode == layout.Node {
		if err := prepare(cluster, specFile); err != nil {
			return fmt.Errorf("prepare the node: %w", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	supervisor := supervise.New(cluster.Path("log"), runDir(cluster))
	go supervisor.Reap()
	go start(ctx, cluster, supervisor)
	<-ctx.Done()
	supervisor.Stop(200 * time.Millisecond) // there is no state to save
	return nil
}

// runDir is empty for a real node: its processes end with PID 1, and their PIDs are meaningless on the host.
func runDir(c *layout.Cluster) string {
	if c.Mode == layout.Node {
		return ""
	}
	return c.RunDir()
}

func start(ctx context.Context, c *layout.Cluster, s *supervise.Supervisor) {
	s.Keep(component.Etcd(c))
	s.Keep(component.APIServer(c))
	if c.Mode == layout.Node {
		s.Keep(component.Containerd(c))
		go startRuntime(ctx, c, s)
	}
	if !waitReady(ctx, c) {
		return
	}
	s.Keep(component.ControllerManager(c))
	s.Keep(component.Scheduler(c))
	if c.Mode == layout.Node {
		s.Keep(component.DNS(c))
	} else {
		s.Keep(component.Kwok(c))
	}
}

// startRuntime starts the kubelet after loading the images, so that no Pod needs one too early.
func startRuntime(ctx context.Context, c *layout.Cluster, s *supervise.Supervisor) {
	images, err := c.Cache.Images()
	if err != nil {
		report(err)
	}
	for _, image := range images {
		importImage(ctx, c, s, image)
	}
	libraries, err := c.Cache.Libraries("root")
	if err != nil {
		report(err)
	}
	s.Keep(component.Kubelet(c))
	s.Keep(component.Proxy(c, libraries))
}

// importImage retries until containerd, which may still be starting, has the image.
func importImage(ctx context.Context, c *layout.Cluster, s *supervise.Supervisor, image string) {
	err := poll.Until(ctx, 50*time.Millisecond, func() error {
		if _, err := os.Stat(component.ContainerdSocket); err != nil {
			return err
		}
		return s.Run(component.Import(c, component.ContainerdSocket, image))
	})
	if err != nil {
		report(fmt.Errorf("import %s: %w", image, err))
	}
}

func waitReady(ctx context.Context, c *layout.Cluster) bool {
	client, err := rest.Admin(c.Server(), c.PKI(""))
	if err != nil {
		report(err)
		return false
	}
	defer client.Close()
	return poll.Until(ctx, 50*time.Millisecond, func() error { return client.Get(ctx, "/readyz", nil) }) == nil
}

// report writes to init.log, which is our standard error.
func report(err error) { fmt.Fprintln(os.Stderr, "node:", err) }
