package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
)

// withTemplates returns a spec with as many entries, of which each has that template.
func withTemplates(number int, text string) *v1.TemplateControllerSpec {
	s := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}}
	for i := range number {
		s.Children = append(s.Children, v1.Child{Name: fmt.Sprint("a", i), Template: text})
	}
	return s
}

// growing are specs of about that many bytes, by what they have much of.
func growing(bytes int) map[string]*v1.TemplateControllerSpec {
	all := map[string]*v1.TemplateControllerSpec{
		"entries":                              withTemplates(bytes/32, "a"),
		"entries that wait for one each":       withTemplates(bytes/32, "a"),
		"child templates without dependencies": withTemplates(bytes/32, "a"),
		"entries of one name":                  withTemplates(bytes/32, "a"),
		"entries with readyWhen":               withTemplates(bytes/32, "a"),
		"final entries of the same names":      withTemplates(bytes/64, "a"),
		"entries that read one helper":         withTemplates(64, `{{ include "h" . }}`),
		"entries that call a long chain":       withTemplates(64, `{{ include "h0" . }}`),
		"unknown functions in one action":      withTemplates(1, "{{ foo"+fill(bytes, same(" bar"))+" }}"),
		"unknown names in one action":          withTemplates(1, "{{ and"+fill(bytes, same(" .a"))+" }}"),
		"keys of a value":                      withTemplates(1, "{{ .values"+fill(bytes, same(".a"))+" }}"),
		"keys of anything":                     withTemplates(1, "{{ (fromYaml .metadata.name)"+fill(bytes, same(".a"))+" }}"),
		"actions in one line":                  withTemplates(1, fill(bytes, same("{{ . }}"))),
		"actions behind text in one line":      withTemplates(1, "a: "+fill(bytes, same("{{ . }}"))),
		"actions behind dashes":                withTemplates(1, fill(bytes/2, same("- "))+fill(bytes/2, same("{{ . }}"))),
		"lines of YAML printed in one":         withTemplates(1, fill(bytes, same("{{ toYaml . }}"))),
		"variables, and uses in one line":      withTemplates(1, fill(bytes/2, func(i int) string { return fmt.Sprintf("{{ $a%d := 1 }}", i) })+fill(bytes/2, same("{{ $a0 }}"))),
		"documents that are the same kind":     withTemplates(1, fill(bytes, same("---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"))),
	}
	for i := range all["entries"].Children {
		all["entries that wait for one each"].Children[i].DependsOn = []string{fmt.Sprint("a", i+1)}
		all["child templates without dependencies"].Children[i].DependsOn = []string{fmt.Sprint("b", i)}
		all["entries of one name"].Children[i].Name = "a"
		all["entries with readyWhen"].Children[i].ReadyWhen = "true"
	}
	waiting := all["entries that wait for one each"].Children
	waiting[len(waiting)-1].DependsOn = nil
	finals := all["final entries of the same names"]
	finals.Finalize = &v1.Finalize{Children: finals.Children}
	all["entries that read one helper"].Helpers = `{{ define "h" }}` + fill(bytes, same("{{ .children.a0 }}")) + "{{ end }}"
	calls := fill(bytes, func(i int) string { return fmt.Sprintf(`{{ define "h%d" }}{{ include "h%d" . }}{{ end }}`, i, i+1) })
	all["entries that call a long chain"].Helpers = calls + fmt.Sprintf(`{{ define "h%d" }}{{ end }}`, strings.Count(calls, "define"))
	return all
}

// checked returns how long the least of three checks computes, and what it finds.
func checked(t *testing.T, s *v1.TemplateControllerSpec) (least time.Duration, found []finding.Finding) {
	t.Helper()
	for round := range 3 {
		begun := cpuTime(t)
		found = Check(&v1.TemplateController{Spec: *s}, openapi.BuiltIn()).Findings
		if took := cpuTime(t) - begun; round == 0 || took < least {
			least = took
		}
	}
	return least, found
}

// TestCheckTimeGrowsLinearly checks specs of 30 and 120 KB. A check that grows as the square of the size takes sixteen times
// as long. The processor times of both are compared: other work on the machine counts for neither.
func TestCheckTimeGrowsLinearly(t *testing.T) {
	const small, noise, mostShown = 30_000, 50 * time.Millisecond, 501
	few, many := growing(small), growing(4*small)
	for why, spec := range few {
		t.Run(why, func(t *testing.T) {
			one, _ := checked(t, spec)
			four, found := checked(t, many[why])
			t.Logf("%v, and %v with %d findings", one, four, len(found))
			if four > 9*one+noise {
				t.Errorf("it takes %v, and %v where it is four times as long", one, four)
			}
			if len(found) > mostShown {
				t.Errorf("it has %d findings, want at most %d", len(found), mostShown)
			}
		})
	}
}
