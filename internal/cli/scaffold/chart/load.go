package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Limits of charts.
const (
	maxFile  = 1 << 20
	maxFiles = 2000
)

// load reads the files of a chart, except hidden files and those in .helmignore.
func load(fsys fs.FS) (*chart, error) {
	c := &chart{files: map[string]string{}, defines: map[string]define{}}
	ignored, err := readIgnore(fsys)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case hidden(name) || ignored.match(name, entry.IsDir()):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		return c.load(fsys, name)
	})
	if err != nil {
		return nil, err
	}
	text, found := c.files["Chart.yaml"]
	if !found {
		return nil, errors.New("no Chart.yaml: pass the directory of a chart")
	}
	if err := yaml.Unmarshal([]byte(text), &c.meta); err != nil {
		return nil, in("Chart.yaml", err)
	}
	if c.meta.Name == "" {
		return nil, in("Chart.yaml", errors.New("the chart has no name"))
	}
	if c.meta.Type == "library" {
		return nil, in("Chart.yaml", errors.New("a library chart renders no objects: pass a chart that uses it"))
	}
	return c, nil
}

// load reads one file.
func (c *chart) load(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name) // of the target of a link
	switch {
	case err != nil:
		return err
	case info.IsDir():
		c.note(name, "it is a symbolic link to a directory: skipped; replace it with the directory")
		return nil
	case !info.Mode().IsRegular():
		c.note(name, "not a file: skipped")
		return nil
	case len(c.files) == maxFiles:
		return fmt.Errorf("more than %d files: is this a chart?", maxFiles)
	case info.Size() > maxFile:
		c.note(name, "larger than 1 MiB: skipped")
		return nil
	}
	c.files[name], err = readFile(fsys, name)
	return err
}

// hidden reports whether the last part of a path begins with a dot, as in .git and .env.
func hidden(name string) bool { return strings.HasPrefix(path.Base(name), ".") }

// ignore are the patterns of a .helmignore.
type ignore []string

// readIgnore reads the .helmignore of a chart, if it has one.
func readIgnore(fsys fs.FS) (ignore, error) {
	const name = ".helmignore"
	text, err := readFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var patterns ignore
	number := 0
	for line := range strings.Lines(text) {
		number++
		pattern := strings.TrimSpace(line)
		if pattern == "" || pattern[0] == '#' {
			continue
		}
		_, err := path.Match(pattern, "")
		if err != nil || pattern[0] == '!' || strings.Contains(pattern, "**") {
			return nil, fmt.Errorf("%s:%d: unsupported pattern %s: use names and paths with *, ? and [a-z]", name, number, pattern)
		}
		patterns = append(patterns, pattern)
	}
	return patterns, nil
}

// match reports whether a pattern matches a file or directory: its path in the chart if the pattern has a slash, else the
// last part of its path. A trailing slash only matches directories.
func (i ignore) match(name string, folder bool) bool {
	for _, pattern := range i {
		pattern, foldersOnly := strings.CutSuffix(pattern, "/")
		of := path.Base(name)
		if strings.Contains(pattern, "/") {
			pattern, of = strings.TrimPrefix(pattern, "/"), name
		}
		if found, _ := path.Match(pattern, of); found && (folder || !foldersOnly) {
			return true
		}
	}
	return false
}
