package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// goBuild is a `go build` command.
type goBuild struct {
	dir      string
	out      string // relative to the cache folder; a folder if it ends in a slash
	packages []string
	tags     string
	ldflags  string
	env      []string
}

func (b goBuild) run(ctx context.Context, cache layout.Cache, p *progress) error {
	if err := os.MkdirAll(cache.Bin("cni"), 0o755); err != nil {
		return err
	}
	out := cache.Dir + "/" + b.out
	args := []string{"build", "-v", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags=-s -w " + b.ldflags, "-tags=" + b.tags, "-o", out}
	command := exec.CommandContext(ctx, "go", append(args, b.packages...)...)
	command.Dir = b.dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
	command.Env = append(command.Env, b.env...)
	return runCounting(command, p)
}

// runCounting runs the command and counts the packages that go -v prints, to show progress. Other output is shown on
// failure.
func runCounting(command *exec.Cmd, p *progress) error {
	stderr, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	said := readLines(stderr, p)
	if err := command.Wait(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", command.Dir, err, strings.Join(said, "\n"))
	}
	return nil
}

// readLines returns the last lines that are not package names.
func readLines(r io.Reader, p *progress) []string {
	const kept = 40
	var said []string
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		line := scanner.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			p.count("modules downloaded")
		case line != "" && !strings.ContainsAny(line, " \t:#"):
			p.count("packages compiled")
		default:
			said = append(said[max(0, len(said)-kept+1):], line)
		}
	}
	return said
}
