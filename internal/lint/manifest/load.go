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

// largestFile is the maximum size of a file in bytes: many times the limit of the API server.
const largestFile = 64 << 20

// Load reads files, folders recursively (*.yaml, *.yml, *.json), and standard input ("-").
// In folders, it skips hidden files and folders, Helm templates (which are not valid YAML until they are rendered), and documents that are not objects,
// such as a kustomization or the values of a chart, and patches of a kustomization. From test cases in a folder, it reads TemplateControllers and CustomResourceDefinitions only. A file
// that is in several paths is read once. The first error is returned as an [*Error].
func Load(paths []string, stdin io.Reader) (*Set, error) {
	set, faults := LoadAll(paths, stdin)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return set, nil
}

// LoadAll is like Load, but continues after errors: it returns the readable objects, and all errors in the order of the files.
func LoadAll(paths []string, stdin io.Reader) (*Set, []*Error) {
	l := loader{set: &Set{}, seen: map[string]bool{}, stdin: stdin}
	for _, path := range paths {
		l.loadPath(path)
	}
	return l.set, l.faults
}

// loader fills a Set from files.
type loader struct {
	set    *Set
	faults []*Error
	seen   map[string]bool // files, by their absolute paths
	stdin  io.Reader
}

// fail records the system error of a path.
func (l *loader) fail(path string, err error) {
	if of, is := errors.AsType[*fs.PathError](err); is {
		err = of.Err
	}
	l.faults = append(l.faults, &Error{File: path, Message: err.Error()})
}

// LoadControllers is like Load, but returns an error if there is no TemplateController.
func LoadControllers(paths []string, stdin io.Reader) (*Set, error) {
	set, err := Load(paths, stdin)
	if err == nil && len(set.Controllers) == 0 {
		return nil, NoController(paths)
	}
	return set, err
}

// NoController is the error for paths without a TemplateController.
func NoController(paths []string) error {
	return fmt.Errorf("no TemplateController in %s", strings.Join(paths, ", "))
}

func (l *loader) loadPath(path string) {
	if path == Stdin {
		if !l.seen[path] {
			l.seen[path] = true
			l.read(path, l.stdin, false)
		}
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		l.fail(path, err)
	case info.IsDir():
		l.loadFolder(Root(path))
	default:
		l.loadFile(path, false)
	}
}

func (l *loader) loadFolder(root string) {
	var fixtures []string        // folders of cases below the root
	patches := map[string]bool{} // files of kustomizations
	_ = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			l.fail(file, err)
			return nil
		}
		hidden := file != root && strings.HasPrefix(entry.Name(), ".")
		switch {
		case entry.IsDir() && (hidden || file != root && ofChart(file) || expectedByCase(file)):
			return fs.SkipDir
		case entry.IsDir() && file != root && (holdsCase(file) || holdsCases(file)):
			fixtures = append(fixtures, file+string(filepath.Separator))
		case entry.IsDir():
			addPatches(patches, file)
		case patches[file] || hidden || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
		case slices.ContainsFunc(fixtures, func(folder string) bool { return strings.HasPrefix(file, folder) }):
			l.loadFixture(file)
		default:
			l.loadFile(file, true)
		}
		return nil
	})
}

// addPatches adds the patch files of the kustomization in a folder: they are parts of objects.
func addPatches(files map[string]bool, folder string) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		var k struct {
			Patches []struct {
				Path string `json:"path"`
			} `json:"patches"`
			Strategic []string `json:"patchesStrategicMerge"`
		}
		text, err := ReadFile(filepath.Join(folder, name))
		if err != nil || kyaml.Unmarshal(text, &k) != nil {
			continue
		}
		for _, patch := range k.Patches {
			files[filepath.Join(folder, patch.Path)] = true
		}
		for _, patch := range k.Strategic {
			files[filepath.Join(folder, patch)] = true
		}
	}
}

// loadFixture reads a file that belongs to a test case: its objects are skipped, and can still be read through another path.
func (l *loader) loadFixture(file string) {
	objects, others := len(l.set.Objects), len(l.set.Controllers)+len(l.set.CRDs)
	l.loadFile(file, true)
	l.set.Objects = l.set.Objects[:objects]
	if whole, err := filepath.Abs(file); err == nil && len(l.set.Controllers)+len(l.set.CRDs) == others {
		delete(l.seen, whole)
	}
}

// CaseFile is the name of the file that makes a folder a case of templater test, and ExpectedFolder that of the folder beside it with what
// is expected.
const (
	CaseFile       = "case.yaml"
	ExpectedFolder = "expected"
)

// holdsCase reports whether a folder is a test case: it has a file of that name that is not a Kubernetes object.
func holdsCase(folder string) bool {
	text, err := ReadFile(filepath.Join(folder, CaseFile))
	var head struct{ APIVersion, Kind string }
	return err == nil && (kyaml.Unmarshal(text, &head) != nil || head.APIVersion == "" || head.Kind == "")
}

// holdsCases reports whether a folder has test cases by its name, and directly below it: its files belong to them.
func holdsCases(folder string) bool {
	if !slices.Contains([]string{"case", "cases", "test", "tests"}, filepath.Base(folder)) {
		return false
	}
	entries, _ := os.ReadDir(folder)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && holdsCase(filepath.Join(folder, e.Name())) })
}

// expectedByCase reports whether a folder has the expected results of a test case.
func expectedByCase(folder string) bool {
	return filepath.Base(folder) == ExpectedFolder && holdsCase(filepath.Dir(folder))
}

// ofChart reports whether a folder has the templates of a Helm chart.
func ofChart(folder string) bool {
	if filepath.Base(folder) != "templates" {
		return false
	}
	_, err := os.Stat(filepath.Join(filepath.Dir(folder), "Chart.yaml"))
	return err == nil
}

// Root returns a path that [filepath.WalkDir] descends into, also if the folder is a symbolic link.
func Root(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return path + string(filepath.Separator)
	}
	return path
}

// ReadFile returns the content of a file of at most 64 MiB. Other files than regular ones, such as devices and pipes, are errors.
func ReadFile(path string) ([]byte, error) {
	if err := checkRegular(path); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(path, file)
}

func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	return err
}

func readAll(path string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, largestFile+1))
	if err == nil && len(text) > largestFile {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d MiB: not a manifest", largestFile>>20)}
	}
	return text, err
}

// loadFile reads a file. Files found in folders must be regular files.
func (l *loader) loadFile(path string, inFolder bool) {
	whole, err := filepath.Abs(path)
	if err != nil {
		l.fail(path, err)
		return
	}
	if l.seen[whole] {
		return
	}
	l.seen[whole] = true
	if inFolder {
		if err := checkRegular(path); err != nil {
			l.fail(path, err)
			return
		}
	}
	file, err := os.Open(path)
	if err != nil {
		l.fail(path, err)
		return
	}
	defer file.Close()
	l.read(path, file, inFolder)
}

// Parse reads a text that was never a file, such as that of an editor. name stands for the file, in places and errors. A text without
// objects is valid; a document that is not an object is an [*Error].
func Parse(name, text string) (*Set, error) {
	l := loader{set: &Set{}}
	l.parse(name, []byte(text), false)
	if len(l.faults) > 0 {
		return l.set, l.faults[0]
	}
	return l.set, nil
}

// CheckYAML returns the place of invalid YAML or a duplicate key, or nil. The text need not contain objects. name is the file name for errors.
func CheckYAML(name string, text []byte) error {
	if !utf8.Valid(text) {
		return &Error{File: name, Message: "not text: use UTF-8"}
	}
	d := &yamlDocument{file: name, first: 1, text: text}
	d.readLines()
	return d.parse()
}

// ErrorIn returns an error about the field at a path, such as steps[0].name, in a text that is one YAML document. If there is no such field, it is about
// the nearest enclosing one.
func ErrorIn(name string, text []byte, path, message string) *Error {
	d := &yamlDocument{file: name, first: 1, text: text}
	d.readLines()
	e := &Error{File: name, Message: message}
	if d.parse() == nil && d.root != nil {
		at := d.root.follow(path)
		e.Line, e.Column = at.key.Line, at.key.Column
	}
	return e
}

// read adds the objects of a file. inFolder means that the file was found in a folder.
func (l *loader) read(path string, from io.Reader, inFolder bool) {
	text, err := readAll(path, from)
	if err != nil {
		l.fail(path, err)
		return
	}
	before := l.set.count() + len(l.faults)
	l.parse(path, text, inFolder)
	if l.set.count()+len(l.faults) == before && !inFolder {
		l.fail(path, errors.New("it contains no object"))
	}
}

// parse adds the objects of a text. lenient means that documents that are not objects are skipped.
func (l *loader) parse(path string, text []byte, lenient bool) {
	if !utf8.Valid(text) {
		l.fail(path, errors.New("not text: use UTF-8"))
		return
	}
	for _, d := range split(path, bytes.TrimPrefix(text, []byte("\ufeff"))) {
		objects, err := d.objects()
		l.note(err)
		for _, o := range objects {
			switch {
			case o.isObject():
				l.note(l.set.add(d, Object{Content: o.content, File: path, Line: d.lineOf(o.at)}, o.at))
			case !lenient:
				l.note(d.errorAt(o.at, "not an object: apiVersion and kind are missing"))
			}
		}
	}
}

// note records an error of a document.
func (l *loader) note(err error) {
	if of, is := errors.AsType[*Error](err); is {
		l.faults = append(l.faults, of)
	}
}

func (s *Set) count() int { return len(s.Controllers) + len(s.CRDs) + len(s.Objects) }
