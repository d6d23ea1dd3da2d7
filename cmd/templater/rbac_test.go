package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/cli"
)

func TestRBACCommand(t *testing.T) {
	const sample = "../../config/samples/simpledeployment"
	for why, row := range map[string]struct {
		args  []string
		want  []string
		fault string // "" = none
	}{
		"templater's own service account": {[]string{sample}, []string{`rbac.templater.dev/aggregate-to-templater: "true"`, "resources: [simpledeployments/status]"}, ""},
		"a service account":               {[]string{sample, "--service-account", "a/b", "--templater-service-account", "c/d"}, []string{"kind: ServiceAccount\nmetadata:\n  name: b\n  namespace: a\n", "resourceNames: [b]\n  verbs: [impersonate]", "name: d\n  namespace: c\n"}, ""},
		"owner references":                {[]string{sample, "--owner-references-enforced"}, []string{"resources: [simpledeployments/finalizers]\n  verbs: [update]"}, ""},
		"JSON":                            {[]string{sample, "-o", "json"}, []string{`"kind": "List"`}, ""},
		"an unknown kind": {[]string{sample + "/templatecontroller.yaml"}, []string{
			"TemplateController simpledeployments: unknown kind SimpleDeployment of example.org/v1: pass the file of its CustomResourceDefinition, use --cluster, or check that its resource is simpledeployments.example.org and that it is namespaced\n",
		}, cli.Findings.Error()},
		"--context without --cluster": {[]string{sample, "--context", "c"}, nil, "--context: requires --cluster"},
		"no kubeconfig":               {[]string{sample, "--cluster", "--kubeconfig", "nowhere"}, nil, "no cluster configured: set --kubeconfig or KUBECONFIG: stat nowhere: no such file or directory"},
		"no path":                     {nil, nil, "pass files or directories with TemplateControllers, or - for standard input"},
		"no file":                     {[]string{"nowhere"}, nil, "nowhere: no such file or directory"},
		"no TemplateController":       {[]string{sample + "/crd.yaml"}, nil, "no TemplateController in " + sample + "/crd.yaml"},
		"invalid service account":     {[]string{sample, "--service-account", "a"}, nil, `--service-account "a": use NAMESPACE/NAME, as in team-a/deployer`},
		"invalid spec":                {[]string{"testdata/rbac/wrong.yaml"}, nil, "TemplateController wrong in testdata/rbac/wrong.yaml: children[a]:2:10: unknown name .Values; did you mean .values?"},
	} {
		t.Run(why, func(t *testing.T) {
			out, err := execute(t, append([]string{"rbac"}, row.args...)...)
			if (err != nil) != (row.fault != "") || err != nil && !strings.HasPrefix(err.Error(), row.fault) {
				t.Errorf("got error %v, want %q", err, row.fault)
			}
			if (errors.Is(err, cli.Findings)) != (row.fault == cli.Findings.Error()) {
				t.Errorf("the error %v has the wrong exit code", err)
			}
			for _, want := range row.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in:\n%s", want, out)
				}
			}
		})
	}
}

// TestQuickstartRBACIsCurrent compares the permissions that a release contains for the first kind with templater rbac.
func TestQuickstartRBACIsCurrent(t *testing.T) {
	want, err := execute(t, "rbac", "../../config/samples/simpledeployment", "--owner-references-enforced")
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../tools/release/first/rbac.yaml"
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-templater rbac --owner-references-enforced +file):\n%s", file, diff)
	}
}
