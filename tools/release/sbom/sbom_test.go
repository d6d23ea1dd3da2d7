package sbom

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
)

// built is a program with modules: this tool itself.
var built = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sbom-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "release")
	if text, err := exec.Command("go", "build", "-o", out, "..").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(out)
})

// release has one program, and one more module from a program in which Go has recorded none.
func release(t *testing.T) Release {
	t.Helper()
	body, err := built()
	if err != nil {
		t.Fatal(err)
	}
	r := Release{
		Name: "templater", Version: "v1.2.3", URL: "https://example.org/v1.2.3", Programs: []Program{{Name: "linux/amd64", Body: body}},
		Licenses: map[string]string{"example.org/in-a-browser@v2.0.0+incompatible": "Apache-2.0 AND MIT"},
	}
	info, err := buildinfo.Read(bytes.NewReader(body))
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("the program has no modules: %v, error %v", info, err)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		r.Licenses[m.Path+"@"+m.Version] = "MIT"
	}
	return r
}

func made(t *testing.T) (document, []byte) {
	t.Helper()
	r := release(t)
	text, err := Make(r)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Make(r); !bytes.Equal(text, again) {
		t.Error("equal programs give different documents")
	}
	var d document
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d, text
}

// A library of the SPDX project parses the document. The fields that it does not check are checked as SPDX 2.3 defines
// them for packages.
func TestDocumentIsSPDX(t *testing.T) {
	_, text := made(t)
	doc, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	if doc.SPDXVersion != "SPDX-2.3" || doc.DataLicense != "CC0-1.0" || doc.SPDXIdentifier != "DOCUMENT" || !regexp.MustCompile(`^https://[^\s#]+$`).MatchString(doc.DocumentNamespace) {
		t.Errorf("got the version %s, the license %s, the ID %s and the name %s", doc.SPDXVersion, doc.DataLicense, doc.SPDXIdentifier, doc.DocumentNamespace)
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", doc.CreationInfo.Created); err != nil || len(doc.CreationInfo.Creators) != 1 || doc.CreationInfo.Creators[0].CreatorType != "Tool" {
		t.Errorf("created %+v: error %v", doc.CreationInfo, err)
	}
	id, location := regexp.MustCompile(`^[A-Za-z0-9.-]+$`), regexp.MustCompile(`^https://[^\s#]+$`)
	seen := map[string]bool{}
	for _, p := range doc.Packages {
		if seen[string(p.PackageSPDXIdentifier)] || !id.MatchString(string(p.PackageSPDXIdentifier)) {
			t.Errorf("%s: two things have its ID, or it is none", p.PackageSPDXIdentifier)
		}
		seen[string(p.PackageSPDXIdentifier)] = true
		if !location.MatchString(p.PackageDownloadLocation) || p.PackageVersion == "" || p.PackageLicenseConcluded == "" || p.PackageLicenseDeclared == "" || p.PackageCopyrightText == "" {
			t.Errorf("%s: got %+v", p.PackageName, p)
		}
		if p.FilesAnalyzed {
			t.Errorf("%s: SPDX wants a code for files that were analyzed", p.PackageName)
		}
	}
	if described, err := spdxlib.GetDescribedPackageIDs(doc); err != nil || len(described) != 1 || described[0] != "Release" {
		t.Errorf("it describes %v: error %v", described, err)
	}
}

func TestIdentifiersAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, m := range []debug.Module{{Path: "a/b", Version: "v1"}, {Path: "a-b", Version: "v1"}, {Path: "a", Version: "b-v1"}, {Path: "a_b", Version: "v1"}, {Path: "A/b", Version: "v1"}} {
		id := identifier(m)
		if other, found := seen[id]; found || !strings.HasPrefix(id, "SPDXRef-Module-") {
			t.Errorf("%s and %s are both called %s", m.Path, other, id)
		}
		seen[id] = m.Path
	}
	if got := identifier(debug.Module{Path: "k8s.io/api", Version: "v0.37.1"}); got != "SPDXRef-Module-k8s.io-api-v0.37.1-cf8f3a3f" {
		t.Errorf("documents of other releases call it otherwise: %s", got)
	}
}

func TestDocumentListsModules(t *testing.T) {
	d, _ := made(t)
	found := map[string]pkg{}
	for _, p := range d.Packages {
		found[p.Name] = p
	}
	if got := found["templater"]; got.Version != "v1.2.3" || got.External[0].Locator != "pkg:golang/github.com/templater-dev/templater@v1.2.3" {
		t.Errorf("the release: got %+v", got)
	}
	if got := found["example.org/in-a-browser"]; got.License != "Apache-2.0 AND MIT" || got.External[0].Locator != "pkg:golang/example.org/in-a-browser@v2.0.0%2Bincompatible" {
		t.Errorf("what Go has not noted: got %+v", got)
	}
	if got := found["std"]; got.License != "BSD-3-Clause" || !strings.HasPrefix(got.Version, "1.") || !strings.HasPrefix(got.Download, "https://go.dev/dl/go1.") {
		t.Errorf("Go: got %+v", got)
	}
	if len(d.Relationships) != len(d.Packages) {
		t.Errorf("%d packages have %d relationships", len(d.Packages), len(d.Relationships))
	}
}

func TestDocumentRecordsSourceCommit(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}
	for want, settings := range map[string][]debug.BuildSetting{
		"":                                       nil,
		"built from the commit abc":              {revision, {Key: "vcs.modified", Value: "false"}},
		"built from the commit abc with changes": {revision, {Key: "vcs.modified", Value: "true"}},
	} {
		var from origin
		if err := from.note(settings); err != nil {
			t.Error(err)
		}
		if got := (Release{}).document(from).Packages[0].Source; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := new(origin).note([]debug.BuildSetting{{Key: "vcs.time", Value: "now"}}); err == nil || !strings.HasPrefix(err.Error(), "the time of the commit: ") {
		t.Errorf("got error %v", err)
	}
}

func TestModulePathsAreEscaped(t *testing.T) {
	if got := escaped("github.com/Masterminds/sprig/v3"); got != "github.com/!masterminds/sprig/v3" {
		t.Errorf("got %s", got)
	}
}

func TestInvalidProgramIsReported(t *testing.T) {
	_, err := Make(Release{Programs: []Program{{Name: "linux/amd64", Body: []byte("text")}}})
	if err == nil || !strings.Contains(err.Error(), "the program for linux/amd64") {
		t.Errorf("got error %v", err)
	}
}

func TestModulesWithoutLicenseAreRejected(t *testing.T) {
	r := release(t)
	clear(r.Licenses)
	if _, err := Make(r); err == nil || !strings.HasPrefix(err.Error(), "the license of the module ") {
		t.Errorf("got error %v", err)
	}
}

// Two documents with the same namespace would be considered identical.
func TestDocumentNamespacesAreUnique(t *testing.T) {
	a := Release{Name: "templater", Version: "v1", URL: "https://example.org", Programs: []Program{{Body: []byte("a")}}}
	b := a
	b.Programs = []Program{{Body: []byte("b")}}
	if a.document(origin{}).Namespace == b.document(origin{}).Namespace {
		t.Errorf("two releases are both called %s", a.document(origin{}).Namespace)
	}
}
