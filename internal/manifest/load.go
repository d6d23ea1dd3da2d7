package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	kyaml "sigs.k8s.io/yaml"
)

// largestFile is how many bytes a file may have: more than the API server takes, many times over.
const largestFile = 64 << 20

// Load reads files, folders with all that is in them (*.yaml, *.yml, *.json), and the standard input, which is "-".
// Hidden files and folders in a folder are left out, and so are the templates of Helm charts, which are no YAML before Helm has
// rendered them, and documents that are no objects: a kustomization, or the values of a chart. Of the cases of templater test in a folder, the
// TemplateControllers and CustomResourceDefinitions are read, and no other objects: these are not those of a cluster. A file that is in several paths is read once. What is wrong is an [*Error] where it has
// a place; the first one is returned.
func Load(paths []string, stdin io.Reader) (*Set, error) {
	set, seen := &Set{}, map[string]bool{}
	for _, path := range paths {
		if err := set.loadPath(path, stdin, seen); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// LoadControllers is Load for those who need a TemplateController: none is an error.
func LoadControllers(paths []string, stdin io.Reader) (*Set, error) {
	set, err := Load(paths, stdin)
	if err == nil && len(set.Controllers) == 0 {
		return nil, fmt.Errorf("no TemplateController in %s", strings.Join(paths, ", "))
	}
	return set, err
}

func (s *Set) loadPath(path string, stdin io.Reader, seen map[string]bool) error {
	if path == Stdin {
		if seen[path] {
			return nil
		}
		seen[path] = true
		return s.read(path, stdin, false)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fault(path, err)
	}
	if !info.IsDir() {
		return s.loadFile(path, seen, false)
	}
	root := Root(path)
	var fixtures []string // folders of cases below the root
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fault(file, err)
		}
		hidden := file != root && strings.HasPrefix(entry.Name(), ".")
		switch {
		case entry.IsDir() && (hidden || file != root && ofChart(file) || expectedByCase(file)):
			return fs.SkipDir
		case entry.IsDir() && file != root && holdsCase(file):
			fixtures = append(fixtures, file+string(filepath.Separator))
			return nil
		case entry.IsDir() || hidden || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
			return nil
		}
		if slices.ContainsFunc(fixtures, func(folder string) bool { return strings.HasPrefix(file, folder) }) {
			return s.loadFixture(file, seen)
		}
		return s.loadFile(file, seen, true)
	})
}

// loadFixture reads a file that belongs to a case: its objects are left out, and may still be read by another path.
func (s *Set) loadFixture(file string, seen map[string]bool) error {
	objects, others := len(s.Objects), len(s.Controllers)+len(s.CRDs)
	err := s.loadFile(file, seen, true)
	s.Objects = s.Objects[:objects]
	if whole, failed := filepath.Abs(file); failed == nil && len(s.Controllers)+len(s.CRDs) == others {
		delete(seen, whole)
	}
	return err
}

// CaseFile is the name of the file that makes a folder a case of templater test, and ExpectedFolder that of the folder beside it with what
// is expected.
const (
	CaseFile       = "case.yaml"
	ExpectedFolder = "expected"
)

// holdsCase reports whether a folder is that of a case: its file of that name is no object of Kubernetes.
func holdsCase(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, CaseFile))
	var head struct{ APIVersion, Kind string }
	return err == nil && (kyaml.Unmarshal(text, &head) != nil || head.APIVersion == "" || head.Kind == "")
}

// expectedByCase reports whether a folder holds what a case expects.
func expectedByCase(folder string) bool {
	return filepath.Base(folder) == ExpectedFolder && holdsCase(filepath.Dir(folder))
}

// ofChart reports whether a folder holds the templates of a Helm chart.
func ofChart(folder string) bool {
	if filepath.Base(folder) != "templates" {
		return false
	}
	_, err := os.Stat(filepath.Join(filepath.Dir(folder), "Chart.yaml"))
	return err == nil
}

// Root returns a path that [filepath.WalkDir] goes into where the folder is given by a symbolic link.
func Root(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return path + string(filepath.Separator)
	}
	return path
}

func (s *Set) loadFile(path string, seen map[string]bool, inFolder bool) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return fault(path, err)
	}
	if seen[whole] {
		return nil
	}
	seen[whole] = true
	file, err := os.Open(path)
	if err != nil {
		return fault(path, err)
	}
	defer file.Close()
	return s.read(path, file, inFolder)
}

// fault says what is wrong with a path, in the words of the system.
func fault(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return &Error{File: path, Message: err.Error()}
}

// Parse reads a text that was never a file, such as that of an editor. name stands for the file, in places and errors. A text without an
// object is fine; a document that is none is an [*Error].
func Parse(name, text string) (*Set, error) {
	set := &Set{}
	return set, set.parse(name, []byte(text), false)
}

// read takes the objects of a file. inFolder means that others may be there, too.
func (s *Set) read(path string, from io.Reader, inFolder bool) error {
	text, err := io.ReadAll(io.LimitReader(from, largestFile+1))
	switch {
	case err != nil:
		return fault(path, err)
	case len(text) > largestFile:
		return &Error{File: path, Message: fmt.Sprintf("more than %d MiB: this is no manifest", largestFile>>20)}
	}
	before := s.count()
	err = s.parse(path, text, inFolder)
	if err == nil && s.count() == before && !inFolder {
		return &Error{File: path, Message: "no object in it"}
	}
	return err
}

// parse takes the objects of a text. lenient means that documents which are no objects are left out.
func (s *Set) parse(path string, text []byte, lenient bool) error {
	if !utf8.Valid(text) {
		return &Error{File: path, Message: "no text: write UTF-8"}
	}
	for _, d := range split(path, bytes.TrimPrefix(text, []byte("\ufeff"))) {
		objects, err := d.objects()
		if err != nil {
			return err
		}
		for _, o := range objects {
			if !o.isObject() {
				if lenient {
					continue
				}
				return d.errorAt(o.at, "no object: apiVersion and kind are missing")
			}
			if err := s.add(d, Object{Content: o.content, File: path, Line: d.lineOf(o.at)}, o.at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Set) count() int { return len(s.Controllers) + len(s.CRDs) + len(s.Objects) }
