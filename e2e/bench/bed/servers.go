package bed

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/bench/procstat"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// The server processes whose CPU time is measured.
const (
	APIServer         = "kube-apiserver"
	Etcd              = "etcd"
	ControllerManager = "kube-controller-manager"
)

// ServerCPU is the total CPU time of the API server and etcd so far. It is 0 for an existing cluster and where there is
// no /proc.
func (b *Bed) ServerCPU() (time.Duration, error) {
	var sum time.Duration
	for _, name := range []string{APIServer, Etcd} {
		pid, err := b.pid(name)
		if err != nil || pid == 0 {
			return 0, err
		}
		cpu, err := procstat.CPU(pid)
		if errors.Is(err, errors.ErrUnsupported) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// Settle waits until the control plane is idle, up to a limit.
func (b *Bed) Settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, name := range []string{ControllerManager, APIServer} {
		pid, err := b.pid(name)
		if err != nil || pid == 0 {
			return err
		}
		quiet := procstat.Quiet{Window: 500 * time.Millisecond, Ticks: 5}
		_, err = quiet.Await(ctx, pid)
		if errors.Is(err, context.DeadlineExceeded) {
			b.Say("%s is still busy; the figures may suffer", name)
			return nil
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// HoldGarbageCollector stops kube-controller-manager, and returns once it has stopped. ReleaseGarbageCollector resumes it.
func (b *Bed) HoldGarbageCollector() error {
	id, err := b.signal(ControllerManager, syscall.SIGSTOP)
	if err != nil {
		return err
	}
	return procstat.AwaitStopped(id.PID)
}

// ReleaseGarbageCollector ends HoldGarbageCollector.
func (b *Bed) ReleaseGarbageCollector() error {
	_, err := b.signal(ControllerManager, syscall.SIGCONT)
	return err
}

// signal sends a signal to a process of the cluster that was started.
func (b *Bed) signal(name string, s syscall.Signal) (proc.ID, error) {
	ids, err := proc.Recorded(b.Cluster.RunDir())
	if err != nil {
		return proc.ID{}, err
	}
	if err := ids[name].Signal(s); err != nil {
		return proc.ID{}, fmt.Errorf("signal %s: %w", name, err)
	}
	return ids[name], nil
}

// pid is the PID of the process of that name, 0 if it is not visible.
func (b *Bed) pid(name string) (int, error) {
	if b.Cluster == nil {
		return 0, nil
	}
	ids, err := proc.Recorded(b.Cluster.RunDir())
	return ids[name].PID, err
}
