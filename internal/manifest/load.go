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
)

// largestFile is how many bytes a file may have: more than the API server takes, many times over.
const largestFile = 64 << 20

// Load reads files, folders with all that is in them (*.yaml, *.yml, *.json), and the standard input, which is "-".
// Hidden files and folders in a folder are left out, and so are the templates of Helm charts, which are no YAML before Helm has
// rendered them, and documents that are no objects: a kustomization, or the values of a chart. A file that is in several paths is read once. What is wrong is an [*Error] where it has
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
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fault(file, err)
		}
		hidden := file != root && strings.HasPrefix(entry.Name(), ".")
		switch {
		case entry.IsDir() && (hidden || file != root && ofChart(file)):
			return fs.SkipDir
		case entry.IsDir() || hidden || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
			return nil
		}
		return s.loadFile(file, seen, true)
	})
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
