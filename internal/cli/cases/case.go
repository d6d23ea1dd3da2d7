// Package cases runs the test cases of templater test: folders with the objects of each step and the expected results. It needs no cluster.
package cases

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

// File is the name of the file that makes a folder a case.
const File = manifest.CaseFile

// Case is a test case.
type Case struct {
	// Folder contains the file, and the files that it names.
	Folder string `json:"-"`
	// Files are the files and folders with the TemplateController and CustomResourceDefinitions. Without any, it is the nearest
	// templatecontroller.yaml in the folder or above, and the crd.yaml beside it.
	Files []string `json:"files,omitempty"`
	// Controller is the name of the TemplateController; required if there are several.
	Controller string `json:"controller,omitempty"`
	// Parent is the file of the parent; empty = parent.yaml.
	Parent string `json:"parent,omitempty"`
	// Objects and Related are files of objects that exist initially: children, and objects for spec.related.
	Objects []string `json:"objects,omitempty"`
	Related []string `json:"related,omitempty"`
	// Time is the time of the first step; zero = the beginning of 2026.
	Time  time.Time `json:"time,omitzero"`
	Steps []Step    `json:"steps"`

	broken error  // why the file is invalid
	text   []byte // of the file
}

// Step has the changes before templater reconciles until nothing changes.
type Step struct {
	Name string `json:"name"`
	// After is the time since the previous step; empty = 0.
	After string `json:"after,omitempty"`
	// Parent is merged into the parent: null removes a field.
	Parent map[string]any `json:"parent,omitempty"`
	// Delete deletes the parent: spec.finalize runs before it is removed.
	Delete bool `json:"delete,omitempty"`
	// Observe is merged into existing objects, or added: each has apiVersion, kind and metadata.name. The namespace defaults to that of the
	// parent.
	Observe []map[string]any `json:"observe,omitempty"`
	// Related is the same for related objects.
	Related []map[string]any `json:"related,omitempty"`
	// Logs are the logs of Pods from now on, by NAMESPACE/NAME and container.
	Logs map[string]map[string]string `json:"logs,omitempty"`
	// Remove removes objects (observed or related), by apiVersion, kind and metadata.
	Remove []map[string]any `json:"remove,omitempty"`
	// Ready are child templates whose objects are ready in this step once they exist; AllReady means all.
	Ready    []string `json:"ready,omitempty"`
	AllReady bool     `json:"allReady,omitempty"`
}

// Find returns the cases in folders and below, in order. An unreadable file or folder is also a Case: Run returns the error.
func Find(folders []string) []*Case {
	var all []*Case
	for _, folder := range folders {
		found := len(all)
		root := manifest.Root(folder)
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				all = append(all, unreadable(path, err))
			case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case !entry.IsDir() && entry.Name() == File:
				all = append(all, read(path))
			}
			return nil
		})
		if len(all) == found {
			all = append(all, &Case{Folder: folder, broken: fmt.Errorf("no %s in %s", File, folder)})
		}
	}
	return all
}

// unreadable returns a Case for an unreadable path.
func unreadable(path string, err error) *Case {
	if of, is := errors.AsType[*fs.PathError](err); is {
		err = of.Err
	}
	return &Case{Folder: path, broken: fmt.Errorf("%s: %w", path, err)}
}

// begin is the default of Time.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// read reads the file of a case.
func read(path string) *Case {
	content, err := manifest.ReadFile(path)
	if err != nil {
		return unreadable(path, err)
	}
	c := &Case{Folder: filepath.Dir(path), Parent: "parent.yaml", Time: begin, text: content}
	if err := manifest.CheckYAML(path, content); err != nil {
		c.broken = err
	} else if err := c.decode(content); err != nil {
		c.broken = c.at(err.Error())
	} else if fault := c.fault(); fault != "" {
		c.broken = c.at(fault)
	}
	return c
}

// inCase matches the path of a field in a message.
var inCase = regexp.MustCompile(`steps\[\d+\](?:\.\w+)*|^\w+`)

// at returns an error with the place of the field that the message names, such as steps[0].after.
func (c *Case) at(message string) error {
	path := inCase.FindString(strings.TrimPrefix(message, "unknown field "))
	return manifest.ErrorIn(filepath.Join(c.Folder, File), c.text, path, message)
}

// fault returns what is wrong with the steps, or "".
func (c *Case) fault() string {
	if len(c.Steps) == 0 {
		return "no steps: add at least one"
	}
	var names []string
	deleted := -1
	for i, s := range c.Steps {
		if s.Name == "" {
			return fmt.Sprintf("steps[%d] has no name", i)
		}
		if after, err := time.ParseDuration(s.After); s.After != "" && (err != nil || after < 0) {
			return fmt.Sprintf("steps[%d].after: write a duration such as 90s or 10m", i)
		}
		if slices.Contains(names, slug(s.Name)) {
			return fmt.Sprintf("steps[%d]: duplicate name %s", i, s.Name)
		}
		names = append(names, slug(s.Name))
		switch {
		case s.Delete && i == 0:
			return "steps[0].delete: the parent has no children yet: add a step before it"
		case s.Delete && deleted >= 0:
			return fmt.Sprintf("steps[%d].delete: the parent was already deleted in steps[%d]", i, deleted)
		case s.Delete:
			deleted = i
		}
	}
	return ""
}

var noSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns a file name for the name of a step.
func slug(name string) string {
	return strings.Trim(noSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// expected returns the file with the expected result of a step.
func (c *Case) expected(i int) string {
	return filepath.Join(c.Folder, manifest.ExpectedFolder, fmt.Sprintf("%d-%s.yaml", i+1, slug(c.Steps[i].Name)))
}
