package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/cli/playground"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// example is an example in the list. Its texts are those of a request to package playground.
type example struct {
	Group       string `json:"group"`
	Name        string `json:"name"` // unique
	Title       string `json:"title"`
	Controllers string `json:"controllers"`
	Definitions string `json:"definitions"`
	Parents     string `json:"parents"`
	Related     string `json:"related"`
}

// group is a folder with a folder for each example, or with folders of such folders. A folder that has only a page is
// itself an example, with the files that readers of the page save.
// files that readers of the page save.
type group struct{ title, folder string }

var groups = []group{
	{"Samples", "config/samples"}, {"Tutorial", "docs/tutorial"}, {"Cookbook", "docs/how-to/cookbook"}, {"Coming from", "docs/how-to/coming-from"},
}

// examplesIn returns the examples of groups: their folders have a templatecontroller.yaml, and parents in one of
// parentFiles.
func examplesIn(groups []group) ([]example, error) {
	all := []example{}
	for _, g := range groups {
		folders, err := g.folders()
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			e, err := read(folder)
			if err != nil {
				return nil, err
			}
			if e.Parents == "" {
				continue // work in progress, or not an example
			}
			e.Group = g.title
			if slices.ContainsFunc(all, func(other example) bool { return other.Name == e.Name }) {
				return nil, fmt.Errorf("%s: there is another example %s: rename one of the folders", folder, e.Name)
			}
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no examples: run this where go.mod is")
	}
	return all, nil
}

// folders returns the folders with an example.
func (g group) folders() ([]string, error) {
	var all []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(g.folder, pattern, "templatecontroller.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			all = append(all, filepath.Dir(file))
		}
	}
	slices.Sort(all)
	if all == nil {
		all = []string{g.folder}
	}
	return all, nil
}

// parentFiles are the possible names of the file with parents; the first existing one is used.
var parentFiles = []string{"example.yaml", "object.yaml", "hello.yaml"}

// read reads the example in a folder.
func read(folder string) (example, error) {
	e := example{Name: filepath.Base(folder)}
	e.Title = title(folder, e.Name)
	texts, err := textsIn(folder)
	if err != nil {
		return e, err
	}
	e.Controllers, e.Definitions = texts["templatecontroller.yaml"], texts["crd.yaml"]
	delete(texts, "templatecontroller.yaml")
	delete(texts, "crd.yaml")
	for _, name := range parentFiles {
		if e.Parents = texts[name]; e.Parents != "" {
			delete(texts, name)
			break
		}
	}
	if e.Related, err = related(folder, e.Controllers, texts); err != nil {
		return e, err
	}
	r := playground.Request{Controllers: e.Controllers, Definitions: e.Definitions, Parents: e.Parents, Related: e.Related}
	if len(new(playground.Session).Answer(r).Problems) > 0 {
		e.Related = "" // they lack fields that a cluster sets, such as the status of a Pod
	}
	return e, nil
}

// saved matches a file that readers of a page save.
var saved = regexp.MustCompile("Save (?:[a-z ]+ )?as `[\\w-]+/([\\w.-]+\\.yaml)`:\n\n```yaml\n((?s:.*?\n))```\n")

// textsIn returns the YAML files of a folder by name, or, if it has none, those that its page tells readers to save.
func textsIn(folder string) (map[string]string, error) {
	texts := map[string]string{}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		texts[filepath.Base(file)] = string(content)
	}
	if len(files) > 0 {
		return texts, nil
	}
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, match := range saved.FindAllStringSubmatch(string(page), -1) {
		texts[match[1]] = match[2]
	}
	return texts, nil
}

// related returns the texts with objects for spec.related.
func related(folder, controllers string, texts map[string]string) (string, error) {
	set, err := manifest.Parse(filepath.Join(folder, "templatecontroller.yaml"), controllers)
	if err != nil {
		return "", err
	}
	wanted := map[schema.GroupKind]bool{}
	for _, c := range set.Controllers {
		for _, r := range c.Spec.Related {
			wanted[schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()] = true
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		set, err := manifest.Parse(name, texts[name])
		if err != nil {
			continue // not a manifest, such as expect.yaml
		}
		if slices.ContainsFunc(set.Objects, func(o *manifest.Object) bool {
			apiVersion, _ := o.Content["apiVersion"].(string)
			kind, _ := o.Content["kind"].(string)
			return wanted[schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()]
		}) {
			out = append(out, strings.TrimSuffix(texts[name], "\n")+"\n")
		}
	}
	return strings.Join(out, "---\n"), nil
}

// title is the first heading of the README.md of a folder.
func title(folder, name string) string {
	content, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return name
	}
	for line := range strings.Lines(string(content)) {
		if heading, is := strings.CutPrefix(line, "# "); is {
			return strings.ReplaceAll(strings.TrimSpace(heading), "`", "")
		}
	}
	return name
}
