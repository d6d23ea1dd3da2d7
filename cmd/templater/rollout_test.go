package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/cli"
)

// TestRolloutExitCodes runs the commands against a server with one TemplateController.
func TestRolloutExitCodes(t *testing.T) {
	const apps = `{"apiVersion": "templater.dev/v1", "kind": "TemplateController", "metadata": {"name": "apps", "uid": "u"}, "spec": {"watch": {"apiVersion": "v1", "kind": "Pod"}},
		"status": {"className": "", "conditions": [{"type": "Accepted", "status": "False", "reason": "InvalidSpec", "message": "wrong\nfield"}]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/templater.dev/v1/templatecontrollers/apps", "/apis/templater.dev/v1/namespaces/team/namespacedtemplatecontrollers/apps":
			w.Header().Set("Warning", `299 - "a warning"`)
			_, _ = w.Write([]byte(apps))
		case "/apis/templater.dev/v1/templaterevisions":
			_, _ = w.Write([]byte(`{"apiVersion": "templater.dev/v1", "kind": "TemplateRevisionList", "items": []}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "there is none"}`))
		}
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(`{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: c, cluster: {server: "`+server.URL+`"}}], contexts: [{name: a, context: {cluster: c}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const warning = "Warning: a warning\n"
	for why, row := range map[string]struct {
		args []string
		code int
		want string
	}{
		"success":                {[]string{"history", "apps"}, cli.ExitFine, warning + "templatecontroller.templater.dev/apps: no rollout history found\n"},
		"the rollout has failed": {[]string{"status", "apps"}, cli.ExitFindings, warning + "Error: the spec of templatecontroller \"apps\" was rejected: InvalidSpec: wrong field\n"},
		"in a namespace":         {[]string{"status", "apps", "-n", "team"}, cli.ExitFindings, warning + "Error: the spec of namespacedtemplatecontroller \"apps\" was rejected: InvalidSpec: wrong field\n"},
		"it cannot be resumed":   {[]string{"resume", "apps"}, cli.ExitFindings, warning + "Error: templatecontroller \"apps\" is not paused\n"},
		"nothing to undo":        {[]string{"undo", "apps"}, cli.ExitFindings, warning + "Error: no rollout history found for templatecontroller \"apps\": there is no earlier revision\n"},
		"nothing to approve":     {[]string{"approve", "apps"}, cli.ExitFindings, warning + "Error: templatecontroller \"apps\" needs no approval: spec.rollout.approval is not Required\n"},
		"a write fails":          {[]string{"pause", "other"}, cli.ExitError, "Error: read TemplateController other: there is none\n"},
		"no name":                {[]string{"pause"}, cli.ExitError, "Error: pass the name of one TemplateController, as in: rollout pause apps\n"},
		"two names":              {[]string{"undo", "apps", "other"}, cli.ExitError, "Error: pass the name of one TemplateController, as in: rollout undo apps\n"},
		"an unknown subcommand":  {[]string{"restart"}, cli.ExitError, "Error: unknown command \"restart\" for \"templater rollout\"\n"},
	} {
		t.Run(why, func(t *testing.T) {
			var out bytes.Buffer
			cmd := newCommand("templater")
			args := append([]string{"rollout"}, row.args...)
			if row.args[0] != "restart" { // it has no flags
				args = append(args, "--kubeconfig", config)
			}
			cmd.SetArgs(args)
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			if code := cli.Execute(t.Context(), cmd); code != row.code {
				t.Errorf("exit code %d, want %d", code, row.code)
			}
			if diff := cmp.Diff(row.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := failedRollout(nil, errors.ErrUnsupported); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another error becomes %v", err)
	}
}
