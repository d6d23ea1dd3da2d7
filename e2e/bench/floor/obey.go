package floor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// The commands, one to a line.
const (
	Begin  = "begin"  // starts the informers and the workers
	Pause  = "pause"  // what changes from now on is left alone
	Resume = "resume" // all parents are looked at
)

// obey carries out commands until they or ctx end.
func (f *floor) obey(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer f.queue.ShutDown()
	defer cancel()
	commands := make(chan string)
	go read(ctx, o.In, commands)
	fmt.Fprintln(f.out, Running)
	if o.Begin {
		running.Go(func() { f.begin(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case command, ok := <-commands:
			if !ok {
				return nil
			}
			if command == Begin {
				running.Go(func() { f.begin(ctx) })
			} else if err := f.change(command); err != nil {
				return err
			}
		}
	}
}

// change carries out a command to one that has begun.
func (f *floor) change(command string) error {
	switch command {
	case Pause:
		f.paused.Store(true)
		fmt.Fprintln(f.out, Paused)
	case Resume:
		f.paused.Store(false)
		for _, parent := range f.parents.GetStore().List() {
			f.enqueue(parent)
		}
	default:
		return fmt.Errorf("command %q: give %s, %s or %s", command, Begin, Pause, Resume)
	}
	return nil
}

// read sends the lines until there are no more.
func read(ctx context.Context, in io.Reader, lines chan<- string) {
	defer close(lines)
	for scanner := bufio.NewScanner(in); scanner.Scan(); {
		select {
		case lines <- scanner.Text():
		case <-ctx.Done():
			return
		}
	}
}

// begin runs the informers and the workers until ctx ends.
func (f *floor) begin(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { f.parents.RunWithContext(ctx) })
	running.Go(func() { f.children.RunWithContext(ctx) })
	if !cache.WaitFor(ctx, "", f.parents.HasSyncedChecker(), f.children.HasSyncedChecker()) {
		return
	}
	fmt.Fprintln(f.out, Synced)
	for range f.workers {
		running.Go(func() { f.work(ctx) })
	}
}

func (f *floor) work(ctx context.Context) {
	for {
		key, shutdown := f.queue.Get()
		if shutdown {
			return
		}
		err := f.pass(ctx, key)
		if err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(f.out, Failed, err)
			f.queue.AddRateLimited(key)
		} else {
			f.queue.Forget(key)
		}
		f.queue.Done(key)
	}
}
