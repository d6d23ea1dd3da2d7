package sbom

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// own is this test, which is a program of modules.
func own(t *testing.T) Program {
	t.Helper()
	body, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("this system has no /proc/self/exe")
	}
	return Program{Name: "this test", Body: body}
}

func made(t *testing.T) (document, []byte) {
	t.Helper()
	r := Release{Name: "templater", Version: "v1.2.3", URL: "https://example.org/v1.2.3", Programs: []Program{own(t)}}
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

// The fields that SPDX 2.3 requires of a document, a package and a relationship, and of which form they are.
func TestDocumentHasWhatSPDXRequires(t *testing.T) {
	_, text := made(t)
	var d map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	check := func(of map[string]any, fields map[string]string) {
		t.Helper()
		for field, form := range fields {
			value, _ := of[field].(string)
			if !regexp.MustCompile("^(" + form + ")$").MatchString(value) {
				t.Errorf("%v: %s is %q, want %s", of["name"], field, of[field], form)
			}
		}
	}
	const id, location = `SPDXRef-[A-Za-z0-9.-]+`, `https://[^\s#]+|NOASSERTION`
	check(d, map[string]string{"spdxVersion": `SPDX-2\.3`, "dataLicense": `CC0-1\.0`, "SPDXID": "SPDXRef-DOCUMENT", "name": ".+", "documentNamespace": `https://[^\s#]+`})
	creation := d["creationInfo"].(map[string]any)
	check(creation, map[string]string{"created": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`})
	for _, creator := range creation["creators"].([]any) {
		if !regexp.MustCompile(`^(Person|Organization|Tool): .+`).MatchString(creator.(string)) {
			t.Errorf("the creator %v is neither a person nor an organization nor a tool", creator)
		}
	}
	ids := []string{"SPDXRef-DOCUMENT"}
	for _, one := range d["packages"].([]any) {
		p := one.(map[string]any)
		check(p, map[string]string{
			"SPDXID": id, "name": ".+", "versionInfo": ".+", "downloadLocation": location, "licenseConcluded": ".+", "licenseDeclared": ".+", "copyrightText": ".+",
			"supplier": "NOASSERTION|(Person|Organization): .+", "primaryPackagePurpose": "APPLICATION|LIBRARY",
		})
		if p["filesAnalyzed"] != false {
			t.Errorf("%v: SPDX wants a packageVerificationCode where files were analyzed", p["name"])
		}
		if slices.Contains(ids, p["SPDXID"].(string)) {
			t.Errorf("two things are called %s", p["SPDXID"])
		}
		ids = append(ids, p["SPDXID"].(string))
	}
	for _, one := range d["relationships"].([]any) {
		r := one.(map[string]any)
		for _, end := range []string{"spdxElementId", "relatedSpdxElement"} {
			if !slices.Contains(ids, r[end].(string)) {
				t.Errorf("a relationship leads to %s, which is not there", r[end])
			}
		}
		check(r, map[string]string{"relationshipType": "DESCRIBES|CONTAINS"})
	}
}

func TestDocumentNamesTheModulesOfThePrograms(t *testing.T) {
	d, _ := made(t)
	found := map[string]pkg{}
	for _, p := range d.Packages {
		found[p.Name] = p
	}
	if got := found["templater"]; got.Version != "v1.2.3" || got.External[0].Locator != "pkg:golang/github.com/templater-dev/templater@v1.2.3" {
		t.Errorf("the release: got %+v", got)
	}
	if got := found["std"]; !strings.HasPrefix(got.Version, "1.") || !strings.HasPrefix(got.Download, "https://go.dev/dl/go1.") {
		t.Errorf("Go: got %+v", got)
	}
	if len(d.Relationships) != len(d.Packages) {
		t.Errorf("%d packages have %d relationships", len(d.Packages), len(d.Relationships))
	}
}

func TestDocumentTellsWhatProgramsAreBuiltFrom(t *testing.T) {
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

func TestWhatIsNoProgramIsNamed(t *testing.T) {
	_, err := Make(Release{Programs: []Program{{Name: "linux/amd64", Body: []byte("text")}}})
	if err == nil || !strings.Contains(err.Error(), "the program for linux/amd64") {
		t.Errorf("got error %v", err)
	}
}
