// Package license finds the licenses of the modules in programs: in the folder of each linked package, and in its
// parent folders up to the module's. This also finds licenses of code that a module has copied from elsewhere.
package license

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"

	"github.com/templater-dev/templater/tools/image/program"
)

// Module is a module with its licenses and notices.
type Module struct {
	Name    string   // PATH@VERSION
	License string   // SPDX expression, such as Apache-2.0 AND MIT
	Texts   [][]byte // unique license and notice files
}

// Program is the main package of a program.
type Program struct {
	Package  string // such as ./cmd/templater
	Platform program.Platform
	Tags     string
}

// Of returns the modules of the programs, sorted by name, except the one in the folder source itself. A module without
// a known license is an error.
func Of(ctx context.Context, source string, programs ...Program) ([]Module, error) {
	found := map[string]files{}
	for _, p := range programs {
		if err := p.list(ctx, source, found); err != nil {
			return nil, err
		}
	}
	var modules []Module
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m, err := read(name, slices.Sorted(maps.Keys(found[name])))
		if err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}

// files are the paths of license and notice files of a module.
type files map[string]bool

// list adds the files of all modules of a program to found.
func (p Program) list(ctx context.Context, source string, found map[string]files) error {
	const format = `{{with .Module}}{{if not .Main}}{{with .Replace}}{{.Path}}@{{.Version}}{{else}}{{.Path}}@{{.Version}}{{end}}	{{.Dir}}	{{$.Dir}}{{end}}{{end}}`
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", p.Tags, "-f", format, p.Package)
	list.Dir = source
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.Platform.System, "GOARCH="+p.Platform.Architecture, "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the packages of %s for %s: %w: %s", p.Package, p.Platform, err, bytes.TrimSpace(stderr.Bytes()))
	}
	for line := range strings.FieldsFuncSeq(string(out), func(r rune) bool { return r == '\n' }) {
		fields := strings.Split(line, "\t") // module name, module folder, package folder
		name, root := fields[0], fields[1]
		if found[name] == nil {
			found[name] = files{}
		}
		for folder := fields[2]; strings.HasPrefix(folder, root); folder = filepath.Dir(folder) {
			if err := found[name].in(folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// telling matches the names of license and notice files; isLicense matches those that contain a license.
var (
	telling   = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([._-].*)?$`)
	isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|copying)`)
	isCode    = regexp.MustCompile(`\.(go|s|c|h|py|sh)$`)
)

// in adds the files of a folder.
func (f files) in(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); entry.Type().IsRegular() && telling.MatchString(name) && !isCode.MatchString(name) {
			f[filepath.Join(folder, name)] = true
		}
	}
	return nil
}

// mostly is the minimum share of license text in a file, in percent: the rest names people and years.
const mostly = 75

// read reads the files of a module.
func read(name string, paths []string) (Module, error) {
	m := Module{Name: name}
	ids := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return m, err
		}
		if !slices.ContainsFunc(m.Texts, func(other []byte) bool { return bytes.Equal(text, other) }) {
			m.Texts = append(m.Texts, text)
		}
		if !isLicense.MatchString(filepath.Base(path)) {
			continue
		}
		coverage := licensecheck.Scan(text)
		if coverage.Percent < mostly {
			return m, fmt.Errorf("the module %s: %s is no license that is known: read it, and do without the module unless it may be given away with templater", name, path)
		}
		for _, match := range coverage.Match {
			ids[match.ID] = true
		}
	}
	if len(ids) == 0 {
		return m, fmt.Errorf("the module %s has no file with its license: do without it", name)
	}
	m.License = strings.Join(slices.Sorted(maps.Keys(ids)), " AND ")
	return m, nil
}

// Texts returns all texts as one, each preceded by its modules.
func Texts(modules []Module) []byte {
	about := map[string][]string{}
	var order []string
	for _, m := range modules {
		for _, text := range m.Texts {
			key := strings.TrimSpace(string(text))
			if about[key] == nil {
				order = append(order, key)
			}
			about[key] = append(about[key], m.Name)
		}
	}
	var out bytes.Buffer
	out.WriteString("templater is made with the modules below. What their authors say of their use:\n")
	for _, text := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(about[text], "\n"), text)
	}
	return out.Bytes()
}
