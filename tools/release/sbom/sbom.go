// Package sbom lists the modules of programs in SPDX 2.3 JSON. See https://spdx.github.io/spdx-spec/v2.3/ for the
// fields.
package sbom

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Program is a program of a release.
type Program struct {
	Name string // such as linux/amd64
	Body []byte
}

// Release is the subject of a document.
type Release struct {
	Name     string // templater
	Version  string // v1.2.3
	URL      string // of the release; makes the document namespace unique
	Programs []Program
	Licenses map[string]string // by module, as PATH@VERSION; also of modules that Go has not recorded in a program
}

// Make returns the document: the release, and each module of its programs, including the Go version that built them.
// Its creation time is that of the commit, so that equal programs have equal documents.
func Make(r Release) ([]byte, error) {
	modules := map[string]debug.Module{}
	from := origin{created: time.Unix(0, 0).UTC()}
	for _, p := range r.Programs {
		info, err := buildinfo.Read(bytes.NewReader(p.Body))
		if err != nil {
			return nil, fmt.Errorf("read of which modules the program for %s is made: %w", p.Name, err)
		}
		for _, m := range append(info.Deps, &debug.Module{Path: "std", Version: info.GoVersion}) {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path+"@"+m.Version] = *m
		}
		if err := from.note(info.Settings); err != nil {
			return nil, err
		}
	}
	for name := range r.Licenses {
		if _, found := modules[name]; !found {
			path, version, _ := strings.Cut(name, "@")
			modules[name] = debug.Module{Path: path, Version: version}
		}
	}
	doc := r.document(from)
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		license := r.Licenses[name]
		if modules[name].Path == "std" {
			license = "BSD-3-Clause"
		}
		if license == "" {
			return nil, fmt.Errorf("the license of the module %s is not known", name)
		}
		doc.add(modules[name], license)
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

// origin is the source of the programs.
type origin struct {
	created time.Time // commit time; 1970 if unknown
	commit  string    // empty if unknown
	changed bool      // uncommitted changes
}

// note records the build settings that Go embeds in a program.
func (o *origin) note(settings []debug.BuildSetting) (err error) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			o.commit = s.Value
		case "vcs.modified":
			o.changed = s.Value == "true"
		case "vcs.time":
			if o.created, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return fmt.Errorf("the time of the commit: %w", err)
			}
		}
	}
	return nil
}

func (o *origin) String() string {
	switch {
	case o.commit == "":
		return ""
	case o.changed:
		return "built from the commit " + o.commit + " with changes"
	}
	return "built from the commit " + o.commit
}

func (r Release) document(from origin) *document {
	main := pkg{
		ID: releaseID, Name: r.Name, Version: r.Version, Download: r.URL, License: "Apache-2.0", Declared: "Apache-2.0", Copyright: noAssertion, Purpose: "APPLICATION",
		Supplier: "Organization: " + r.Name,
		External: []external{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: purl("github.com/templater-dev/templater", r.Version)}},
	}
	main.Source = from.String()
	return &document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: r.Name + "-" + r.Version, Namespace: r.URL + "/" + r.Name + "_" + r.Version + ".spdx.json/" + r.digest(),
		Creation:      creation{Created: from.created.UTC().Format(time.RFC3339), Creators: []string{"Tool: templater-release"}},
		Packages:      []pkg{main},
		Relationships: []relationship{{From: documentID, Type: "DESCRIBES", To: main.ID}},
	}
}

// digest covers all programs, to make the document namespace unique.
func (r Release) digest() string {
	sum := sha256.New()
	for _, p := range r.Programs {
		_, _ = sum.Write(p.Body) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// identifier is the ID of a module in the documents of all releases. A digest distinguishes modules that differ only in
// characters not allowed in IDs.
func identifier(m debug.Module) string {
	name := m.Path + "@" + m.Version
	sum := sha256.Sum256([]byte(name))
	return "SPDXRef-Module-" + notInID.ReplaceAllString(name, "-") + "-" + hex.EncodeToString(sum[:4])
}

// add adds a module of the release.
func (d *document) add(m debug.Module, license string) {
	p := pkg{
		ID: identifier(m), Name: m.Path, Version: m.Version,
		Download: "https://proxy.golang.org/" + escaped(m.Path) + "/@v/" + escaped(m.Version) + ".zip", License: license, Declared: license, Copyright: noAssertion,
		Supplier: noAssertion, Purpose: "LIBRARY",
		External: []external{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: purl(m.Path, m.Version)}},
	}
	if m.Path == "std" {
		p.Version, p.Download = strings.TrimPrefix(m.Version, "go"), "https://go.dev/dl/"+m.Version+".src.tar.gz"
		p.External[0].Locator = purl("std", p.Version)
	}
	if m.Sum != "" {
		p.Comment = "checksum in go.sum: " + m.Sum
	}
	d.Packages = append(d.Packages, p)
	d.Relationships = append(d.Relationships, relationship{From: releaseID, Type: "CONTAINS", To: p.ID})
}

// purl is the package URL: see https://github.com/package-url/purl-spec.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

var capital = regexp.MustCompile(`[A-Z]`)

// escaped escapes a path or a version for the module proxy: !a for A.
func escaped(text string) string {
	return capital.ReplaceAllStringFunc(text, func(c string) string { return "!" + strings.ToLower(c) })
}
