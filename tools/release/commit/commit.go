// Package commit determines the version of a clone's commit, and rejects what cannot be reproduced: uncommitted files,
// and a version that is not a tag.
package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/templater-dev/templater/tools/image/program"
)

// Asked is the requested release.
type Asked struct {
	Version string // v1.2.3, a tag of the commit; empty = the commit's tag, or else v0.0.0-gCOMMIT
	Dirty   bool   // allow uncommitted changes; the version of such a release ends with -dirty
}

const (
	digits = 12 // of a commit, in a version; Git itself shows more digits in repositories with more commits
	shown  = 5  // number of files in an error
)

// Version returns the version of a folder. If it is not a clone, that is the requested version.
func Version(ctx context.Context, folder string, asked Asked) (string, error) {
	if err := program.CheckVersion(asked.Version); err != nil {
		return "", fmt.Errorf("--version: %w", err)
	}
	switch info, err := os.Stat(filepath.Join(folder, ".git")); {
	case err == nil && !info.IsDir():
		return "", fmt.Errorf("--source %s: it is a second work tree of a clone, in which Go does not note the commit in programs: make the release in a clone of its own (git clone)", folder)
	case errors.Is(err, fs.ErrNotExist) && asked.Version == "":
		return "", fmt.Errorf("--source %s: it is no clone, whose commit would tell the version: give --version", folder)
	case errors.Is(err, fs.ErrNotExist):
		return asked.Version, nil
	}
	c := clone(folder)
	version, err := c.version(ctx, asked.Version)
	if err != nil {
		return "", err
	}
	changes, err := c.lines(ctx, "status", "--porcelain")
	switch {
	case err != nil || len(changes) == 0:
		return version, err
	case asked.Dirty:
		return version + "-dirty", nil
	}
	if len(changes) > shown {
		changes = append(changes[:shown], fmt.Sprintf("and %d more", len(changes)-shown))
	}
	return "", fmt.Errorf("files differ from the commit, so the release is not reproducible:\n  %s\ncommit or remove them, or have the version end with -dirty: make release DIRTY=true", strings.Join(changes, "\n  "))
}

// clone is a folder with a commit.
type clone string

// version returns the requested tag, the commit's tag, or a version made from the commit.
func (c clone) version(ctx context.Context, asked string) (string, error) {
	head, err := c.lines(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	tags, err := c.lines(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return "", err
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return program.CheckVersion(tag) != nil })
	switch {
	case slices.Contains(tags, asked):
		return asked, nil
	case asked != "":
		return "", c.noTag(ctx, asked, head[0])
	case len(tags) > 1:
		return "", fmt.Errorf("the commit has the tags %s: say which one is released: make release VERSION=%s", strings.Join(tags, " and "), tags[0])
	case len(tags) == 1:
		return tags[0], nil
	}
	return "v0.0.0-g" + head[0][:digits], nil
}

// noTag returns the error for a version that is not a tag of the commit.
func (c clone) noTag(ctx context.Context, asked, head string) error {
	other, err := c.lines(ctx, "tag", "--list", asked)
	if err != nil {
		return err
	}
	if len(other) > 0 {
		return fmt.Errorf("--version %s: this is the tag of another commit, and not of %s: git checkout %s", asked, head[:digits], asked)
	}
	return fmt.Errorf("--version %s: the commit %s has no such tag: git tag %s, or leave VERSION out", asked, head[:digits], asked)
}

// lines returns the lines that git prints.
func (c clone) lines(ctx context.Context, args ...string) ([]string, error) {
	var stderr bytes.Buffer
	git := exec.CommandContext(ctx, "git", append([]string{"-C", string(c)}, args...)...)
	git.Stderr = &stderr
	out, err := git.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}
