package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/lint/report"
)

// reported has all that there is to tell.
func reported() *Report {
	r := &Report{Controller: "apps", Revision: "0123456789abcdef", Notes: []string{"a note"}, Parents: []*Parent{
		{Kind: "App", Namespace: "team", Name: "one", Errors: []string{"a fault"}, Status: "@@ -1 +1 @@\n-a: 1\n+a: 2\n", Changes: []Change{
			{Verb: Update, Entry: "map", APIVersion: "v1", Kind: "ConfigMap", Namespace: "team", Name: "a", Refused: "no", Diff: " a: 1\n-b: 1\n+b: 2\n"},
			{Verb: Delete, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team", Name: "b"},
			{Verb: Delete, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team", Name: "c"},
		}},
		{Kind: "Node", Name: "two", Watched: "removed", Changes: []Change{
			{Verb: Orphan, Entry: "x", APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "i"},
			{Verb: Orphan, Entry: "x", APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "j"},
			{Verb: Create, Entry: "x", APIVersion: "v1", Kind: "Pod", Name: "p"},
		}},
		{Kind: "Node", Name: "three", Watched: "added"},
	}}
	r.Summary.Parents = 4
	r.finish()
	return r
}

// TestSummaryCountsAreSorted has many: by verb, kind and group.
func TestSummaryCountsAreSorted(t *testing.T) {
	p, want := &Parent{}, []Count{}
	for _, verb := range []Verb{Create, Update, Delete} {
		for _, kind := range []string{"A", "B", "C"} {
			for _, group := range []string{"a.org", "b.org"} {
				p.Changes = append(p.Changes, Change{Verb: verb, Kind: kind, APIVersion: group + "/v1"})
				want = append(want, Count{Verb: verb, Group: group, Kind: kind, Count: 1})
			}
		}
	}
	r := &Report{Parents: []*Parent{p}}
	r.finish()
	if diff := cmp.Diff(want, r.Summary.Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiffColors has what comes in green, what goes in red, and the rest as it is.
func TestDiffColors(t *testing.T) {
	var b strings.Builder
	r := &Report{Parents: []*Parent{{Kind: "App", Name: "one", Status: "@@ -1 +1 @@\n c: 0\n-a: 1\n+a: 2\n"}}}
	if err := Text(&b, report.Colors{On: true}, r); err != nil {
		t.Fatal(err)
	}
	const want = "    \x1b[2m@@ -1 +1 @@\x1b[0m\n     c: 0\n    \x1b[31m-a: 1\x1b[0m\n    \x1b[32m+a: 2\x1b[0m\n\nrevision \n"
	if _, got, _ := strings.Cut(b.String(), "change\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextOfChangedParents(t *testing.T) {
	const want = `TemplateController apps: 3 of 4 parents change: 1 Pod would be created, 1 ConfigMap would be changed, 2 ConfigMaps would be deleted, 2 Ingresses would be kept, though no template renders them, 1 status changes, 1 write would be rejected, 1 parent has new problems
Note: a note

App team/one
  error: a fault
  ConfigMap team/a of children[map] would be changed
    the API server would reject it: no
     a: 1
    -b: 1
    +b: 2
  ConfigMap team/b of children[?] would be deleted
  ConfigMap team/c of children[?] would be deleted
  its status would change
    @@ -1 +1 @@
    -a: 1
    +a: 2

Node two: would no longer be a parent
  Ingress i of children[x] would be kept, though no template renders it
  Ingress j of children[x] would be kept, though no template renders it
  Pod p of children[x] would be created

Node three: would become a parent

revision 0123456789abcdef
`
	var b strings.Builder
	if err := Text(&b, report.Colors{}, reported()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextReportsApproval(t *testing.T) {
	for controller, want := range map[string]string{
		"apps":      "templater rollout approve apps\n",
		"team/apps": "templater rollout approve apps -n team\n",
	} {
		t.Run(controller, func(t *testing.T) {
			var b strings.Builder
			if err := Text(&b, report.Colors{}, &Report{Controller: controller, Revision: "0123456789abcdef", unapproved: true}); err != nil {
				t.Fatal(err)
			}
			const text = "revision 0123456789abcdef\nIt needs approval: set spec.rollout.approvedRevision to 0123456789abcdef, or apply this version and run "
			if _, got, _ := strings.Cut(b.String(), "changes\n"); got != text+want {
				t.Errorf("got %q, want %q", got, text+want)
			}
		})
	}
}

// TestTextReportsOmittedParents says how many parents are left out, unless all are.
func TestTextReportsOmittedParents(t *testing.T) {
	for shown, want := range map[int]string{0: "", 1: "2 more parents change: --limit 0 shows all", 2: "1 more parent changes: --limit 0 shows all", 3: ""} {
		r := reported()
		r.Parents = r.Parents[:shown]
		var b strings.Builder
		if err := Text(&b, report.Colors{}, r); err != nil {
			t.Fatal(err)
		}
		if _, more, _ := strings.Cut(b.String(), "more parent"); (more != "") != (want != "") || !strings.Contains(b.String(), want+"\n") && want != "" {
			t.Errorf("%d are shown: %s", shown, b.String())
		}
	}
}

func TestSummaryString(t *testing.T) {
	for want, s := range map[string]Summary{
		"none of 0 parents changes":                                                          {},
		"none of 1 parent changes":                                                           {Parents: 1},
		"1 of 1 parent changes":                                                              {Parents: 1, Changed: 1},
		"2 of 3 parents change: 2 statuses change":                                           {Parents: 3, Changed: 2, Statuses: 2},
		"1 of 1 parent changes: 2 parents have new problems":                                 {Parents: 1, Changed: 1, Failing: 2},
		"1 of 1 parent changes: 3 writes would be rejected":                                  {Parents: 1, Changed: 1, Refused: 3},
		"1 of 1 parent changes: 2 Pods would be recreated":                                   {Parents: 1, Changed: 1, Changes: []Count{{Recreate, "", "Pod", 2}}},
		"1 of 1 parent changes: 2 Gateways would be left unchanged by their update strategy": {Parents: 1, Changed: 1, Changes: []Count{{Outdated, "", "Gateway", 2}}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for kind, want := range map[string]string{"Ingress": "Ingresses", "Box": "Boxes", "Branch": "Branches", "Endpoints": "Endpoints", "Policy": "Policies", "Gateway": "Gateways", "Pod": "Pods"} {
		if got := pluralOf(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// TestJSON is what programs read: text as it is.
func TestJSON(t *testing.T) {
	r := reported()
	r.Notes = []string{"a < b & c"}
	var b strings.Builder
	if err := JSON(&b, []*Report{r}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"{\n  \"reports\": [\n", `"a < b & c"`, `"parent": "added"`, `"revision": "0123456789abcdef"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
}
