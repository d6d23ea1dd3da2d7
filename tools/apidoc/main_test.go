package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReferenceIsCurrent(t *testing.T) {
	now := filepath.Join(t.TempDir(), "api.md")
	if err := run("../../api/v1", now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text(t, "../../docs/reference/api.md"), text(t, now)); diff != "" {
		t.Errorf("run make generate (-docs/reference/api.md +api/v1):\n%s", diff)
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// folder returns one that has this Go code.
func folder(t *testing.T, code string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte("package v1\n"+code), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTables(t *testing.T) {
	source, err := read(folder(t, `
// Robot works.
//
// +kubebuilder:printcolumn:name="Arms",type=integer,JSONPath=`+"`.spec.arms`"+`,priority=1
type Robot struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	// What it does.
	Spec RobotSpec `+"`json:\"spec\"`"+`
}
// RobotSpec is the wish.
//
// +kubebuilder:validation:XValidation:rule="self.arms > 0",message="a \"robot\" has arms"
type RobotSpec struct {
	// Either
	// a | b.
	// +optional
	Mode Mode  `+"`json:\"mode,omitempty\"`"+`
	Hands []Hand `+"`json:\"hands\"`"+`
	Names []string `+"`json:\"names\"`"+`
	Hidden *int64 `+"`json:\"-\"`"+`
}
// +kubebuilder:validation:Enum=Work;Rest
type Mode string
type Hand struct {
	// How many.
	Fingers *int64 `+"`json:\"fingers\"`"+`
}`))
	if err != nil {
		t.Fatal(err)
	}
	page, err := source.page("Robot")
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(page), "shows:\n")
	want := `
| Column | From |
|---|---|
| ARMS (` + "`-o wide`) | `.spec.arms`" + ` |

## spec

What it does.

| Field | Type | What it is |
|---|---|---|
| ` + "`mode` | `Work` or `Rest`" + ` | Either a \| b. |
| ` + "`hands`" + ` | list of [spec.hands[]](#spechands) |  |
| ` + "`names`" + ` | list of strings |  |

The API server refuses what breaks one of these rules:

* a "robot" has arms

## spec.hands[]

| Field | Type | What it is |
|---|---|---|
| ` + "`fingers`" + ` | integer | How many. |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct{ code, want string }{
		"a file that is no Go code":         {"type {", "expected 'IDENT'"},
		"a folder without types":            {"", "has no types"},
		"another kind":                      {"type Other string", "there is no type TemplateController"},
		"a kind that is no struct":          {"type TemplateController string", "TemplateController is no struct"},
		"a type that no reader could guess": {"type TemplateController struct {\n\tSpec Inner `json:\"spec\"`\n}\ntype Inner struct {\n\tAt time.Time `json:\"at\"`\n}", "spec.at has type time.Time"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(folder(t, test.code), filepath.Join(t.TempDir(), "api.md"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
	if err := run(folder(t, "type TemplateController struct{}"), t.TempDir()); err == nil {
		t.Error("want an error for a page that cannot be written")
	}
}
