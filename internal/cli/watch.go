package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/kube/object"
)

// AddWatch adds the flag -w, --watch to a command, which then runs again whenever YAML or JSON files change, until it is interrupted. paths returns the
// files and folders that the command reads; they are read before each run. Errors are printed and do not end it.
func AddWatch(cmd *cobra.Command, paths func(args []string) []string) {
	run, watch := cmd.RunE, false
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "run again whenever a YAML or JSON file changes, until interrupted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !watch:
			return run(cmd, args)
		case slices.Contains(paths(args), "-"):
			return errors.New("--watch: standard input cannot be watched: pass files or directories")
		}
		return runOnChanges(cmd.Context(), cmd.ErrOrStderr(), func() []string { return paths(args) }, func() error { return run(cmd, args) })
	}
}

// runOnChanges calls run now and after each change, until the context is canceled.
func runOnChanges(ctx context.Context, out io.Writer, paths func() []string, run func() error) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("--watch: %w", err)
	}
	defer func() { _ = watcher.Close() }()
	for {
		for _, path := range paths() { // before the run, so that no change is missed
			watchFolders(watcher, path)
		}
		if err := run(); err != nil && !errors.Is(err, Findings) {
			fmt.Fprintf(out, "Error: %s\n", object.Line(err.Error(), longestError))
		}
		fmt.Fprintln(out, "Waiting for changes.")
		if !changed(ctx, watcher) {
			return nil
		}
	}
}

// watchFolders watches a folder and those below it, or the folder of a file: editors replace files. Missing folders are skipped: run reports them.
func watchFolders(watcher *fsnotify.Watcher, path string) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		_ = watcher.Add(filepath.Dir(path))
		return
	}
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return nil //nolint:nilerr // see above
		case len(entry.Name()) > 1 && entry.Name() != ".." && entry.Name()[0] == '.':
			return fs.SkipDir
		}
		return watcher.Add(path)
	})
}

// settle is how long no file may change before a command runs again: editors write several times.
const settle = 100 * time.Millisecond

// changed waits for changes. It returns false if the context is canceled.
func changed(ctx context.Context, watcher *fsnotify.Watcher) bool {
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case event := <-watcher.Events:
			if concerns(event) {
				quiet = time.After(settle)
			}
		case err := <-watcher.Errors:
			if err != nil { // some events may be lost
				quiet = time.After(settle)
			}
		case <-quiet:
			return true
		}
	}
}

// concerns reports whether an event is about a file that commands read, or a folder.
func concerns(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	return !strings.HasPrefix(name, ".") && event.Op != fsnotify.Chmod && slices.Contains([]string{"", ".yaml", ".yml", ".json"}, filepath.Ext(name))
}
