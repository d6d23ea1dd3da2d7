package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sample is the directory of a TemplateController, for flags that are validated after the files are loaded.
const sample = "../../config/samples/simpledeployment"

const (
	ofAddress   = `": use HOST:PORT or :PORT, as in :8080, with a port of at most 65535`
	ofNamespace = ` "A_b": use the name of a namespace: at most 63 lower-case letters, digits and -, and no - at either end`
	ofAccount   = `": use NAMESPACE/NAME, as in team-a/deployer`
	ofContext   = `--context "nowhere" does not exist: see kubectl config get-contexts`
	noCluster   = "no cluster configured: set --kubeconfig or KUBECONFIG: stat /nowhere/config: no such file or directory"
	nowhere     = ": /nowhere/file: no such file or directory"
)

// badFlags are arguments with an invalid value for each flag of each command, and the expected error. Boolean flags are tested without a row.
var badFlags = map[string]struct {
	args []string
	want string
}{
	"run --kubeconfig":                      {[]string{"run", "--kubeconfig", "/nowhere/config"}, noCluster},
	"run --context":                         {[]string{"run", "--leader-elect=false", "--context", "nowhere"}, ofContext},
	"run --workers":                         {[]string{"run", "--workers", "0"}, `--workers "0": use a number of at least 1`},
	"run --rollout-workers":                 {[]string{"run", "--rollout-workers", "many"}, `--rollout-workers "many": use a number of at least 1`},
	"run --class-name":                      {[]string{"run", "--class-name", "A_b"}, `invalid --class-name "A_b": use at most 50 lower-case letters, digits and -, and no - at either end`},
	"run --leader-elect-resource-namespace": {[]string{"run", "--leader-elect-resource-namespace", "A_b"}, "--leader-elect-resource-namespace" + ofNamespace},
	"run --seal-namespace":                  {[]string{"run", "--seal-namespace", "A_b"}, "--seal-namespace" + ofNamespace},
	"run --webhook-namespace":               {[]string{"run", "--webhook-namespace", "A_b"}, "--webhook-namespace" + ofNamespace},
	"run --log-format":                      {[]string{"run", "--log-format", "xml"}, `--log-format "xml": use text, json or auto`},
	"run --log-level":                       {[]string{"run", "--log-level", "loud"}, `--log-level "loud": use error, info, verbose or debug`},
	"run --metrics-bind-address":            {[]string{"run", "--metrics-bind-address", ":99999"}, `--metrics-bind-address ":99999` + ofAddress},
	"run --health-probe-bind-address":       {[]string{"run", "--health-probe-bind-address", "8080"}, `--health-probe-bind-address "8080` + ofAddress},
	"run --pprof-bind-address":              {[]string{"run", "--pprof-bind-address", "localhost:-1"}, `--pprof-bind-address "localhost:-1` + ofAddress},
	"run --webhook-bind-address":            {[]string{"run", "--webhook-bind-address", ":http"}, `--webhook-bind-address ":http` + ofAddress},
	"lint --output":                         {[]string{"lint", sample, "-o", "xml"}, `--output "xml": use text, json or sarif`},
	"lint --warnings":                       {[]string{"lint", sample, "--warnings", "hide"}, `--warnings "hide": use show or error`},
	"lint --schemas":                        {[]string{"lint", sample, "--schemas", "/nowhere/file"}, "--schemas" + nowhere},
	"lint --kubeconfig":                     {[]string{"lint", sample, "--cluster", "--kubeconfig", "/nowhere/config"}, noCluster},
	"lint --context":                        {[]string{"lint", sample, "--cluster", "--context", "nowhere"}, ofContext},
	"render --filename":                     {[]string{"render", "-f", "/nowhere/file"}, "/nowhere/file: no such file or directory"},
	"render --parents":                      {[]string{"render", sample, "--parents", "/nowhere/file"}, "--parents" + nowhere},
	"lint --filename":                       {[]string{"lint", "-f", "/nowhere/file"}, "/nowhere/file: no such file or directory"},
	"rbac --filename":                       {[]string{"rbac", "-f", "/nowhere/file"}, "/nowhere/file: no such file or directory"},
	"render --observed":                     {[]string{"render", sample, "--observed", "/nowhere/file"}, "--observed" + nowhere},
	"render --related":                      {[]string{"render", sample, "--related", "/nowhere/file"}, "--related" + nowhere},
	"render --controller":                   {[]string{"render", sample, "--controller", "other"}, "--controller: no TemplateController other in " + sample},
	"render --namespace":                    {[]string{"render", sample, "-n", "A_b"}, "--namespace" + ofNamespace},
	"render --output":                       {[]string{"render", sample, "-o", "text"}, `--output "text": use yaml or json`},
	"test --junit":                          {[]string{"test", sample, "--junit", "/nowhere/file"}, "--junit: open /nowhere/file: no such file or directory"},
	"explain --output":                      {[]string{"explain", "-o", "yaml"}, `--output "yaml": use text or json`},
	"version --output":                      {[]string{"version", "-o", "yaml"}, `--output "yaml": use text or json`},
	"playground --port":                     {[]string{"playground", "--port", "99999"}, `--port "99999": use a number from 0 to 65535`},
	"rbac --service-account":                {[]string{"rbac", sample, "--service-account", "deployer"}, `--service-account "deployer` + ofAccount},
	"rbac --templater-service-account":      {[]string{"rbac", sample, "--templater-service-account", "A_b/templater"}, `--templater-service-account "A_b/templater` + ofAccount},
	"rbac --kubeconfig":                     {[]string{"rbac", sample, "--cluster", "--kubeconfig", "/nowhere/config"}, noCluster},
	"rbac --context":                        {[]string{"rbac", sample, "--cluster", "--context", "nowhere"}, ofContext},
	"crd --filename":                        {[]string{"crd", "-f", "/nowhere/file"}, "/nowhere/file: no such file or directory"},
	"crd --output":                          {[]string{"crd", sample, "-o", "text"}, `--output "text": use yaml or json`},
	"rbac --output":                         {[]string{"rbac", sample, "-o", "text"}, `--output "text": use yaml or json`},
	"new --kind":                            {[]string{"new", "/nowhere/x", "--kind", "shop", "--group", "example.org"}, `--kind "shop": use a name such as Shop: a capital letter, then letters and digits, at most 63 characters`},
	"new --group":                           {[]string{"new", "/nowhere/x", "--kind", "Shop", "--group", "shops"}, `--group "shops": use a domain that you own, such as shops.example.org`},
	"new --version":                         {[]string{"new", "/nowhere/x", "--kind", "Shop", "--group", "example.org", "--version", "1.0"}, `--version "1.0": use a version such as v1 or v1alpha1`},
	"new --from-crd":                        {[]string{"new", "/nowhere/x", "--from-crd", "/nowhere/file"}, "--from-crd" + nowhere},
	"new --from-manifest":                   {[]string{"new", "/nowhere/x", "--kind", "Shop", "--group", "example.org", "--from-manifest", "/nowhere/file"}, "--from-manifest" + nowhere},
	"new --from-chart":                      {[]string{"new", "/nowhere/x", "--from-chart", "/nowhere/file"}, "--from-chart: directory /nowhere/file does not exist"},
	"new --from-rgd":                        {[]string{"new", "/nowhere/x", "--from-rgd", "/nowhere/file"}, "--from-rgd" + nowhere},
	"diff --filename":                       {[]string{"diff", "-f", "/nowhere/file"}, "/nowhere/file: no such file or directory"},
	"diff --output":                         {[]string{"diff", sample, "-o", "yaml"}, `--output "yaml": use text or json`},
	"diff --limit":                          {[]string{"diff", sample, "--limit", "-1"}, `--limit "-1": use a number of at least 0`},
	"diff --kubeconfig":                     {[]string{"diff", sample, "--kubeconfig", "/nowhere/config"}, noCluster},
	"diff --context":                        {[]string{"diff", sample, "--context", "nowhere"}, ofContext},
	"tree --filename":                       {[]string{"tree", "app", "shop", "-f", "/nowhere/file"}, "--filename" + nowhere},
	"tree --output":                         {[]string{"tree", "app", "shop", "-o", "svg"}, `--output "svg": use text, json, dot or mermaid`},
	"tree --kubeconfig":                     {[]string{"tree", "app", "shop", "--kubeconfig", "/nowhere/config"}, noCluster},
	"tree --context":                        {[]string{"tree", "app", "shop", "--context", "nowhere"}, ofContext},
	"tree --namespace":                      {[]string{"tree", "app", "shop", "-n", "A_b"}, "--namespace" + ofNamespace},
	"rollout status --kubeconfig":           {[]string{"rollout", "status", "apps", "--kubeconfig", "/nowhere/config"}, noCluster},
	"rollout status --context":              {[]string{"rollout", "status", "apps", "--context", "nowhere"}, ofContext},
	"rollout status --namespace":            {[]string{"rollout", "status", "apps", "-n", "A_b"}, "--namespace" + ofNamespace},
	"rollout history --kubeconfig":          {[]string{"rollout", "history", "apps", "--kubeconfig", "/nowhere/config"}, noCluster},
	"rollout history --context":             {[]string{"rollout", "history", "apps", "--context", "nowhere"}, ofContext},
	"rollout history --namespace":           {[]string{"rollout", "history", "apps", "-n", "A_b"}, "--namespace" + ofNamespace},
	"rollout pause --kubeconfig":            {[]string{"rollout", "pause", "apps", "--kubeconfig", "/nowhere/config"}, noCluster},
	"rollout pause --context":               {[]string{"rollout", "pause", "apps", "--context", "nowhere"}, ofContext},
	"rollout pause --namespace":             {[]string{"rollout", "pause", "apps", "-n", "A_b"}, "--namespace" + ofNamespace},
	"rollout resume --kubeconfig":           {[]string{"rollout", "resume", "apps", "--kubeconfig", "/nowhere/config"}, noCluster},
	"rollout resume --context":              {[]string{"rollout", "resume", "apps", "--context", "nowhere"}, ofContext},
	"rollout resume --namespace":            {[]string{"rollout", "resume", "apps", "-n", "A_b"}, "--namespace" + ofNamespace},
	"rollout undo --kubeconfig":             {[]string{"rollout", "undo", "apps", "--kubeconfig", "/nowhere/config"}, noCluster},
	"rollout undo --context":                {[]string{"rollout", "undo", "apps", "--context", "nowhere"}, ofContext},
	"rollout undo --namespace":              {[]string{"rollout", "undo", "apps", "-n", "A_b"}, "--namespace" + ofNamespace},
	"rollout approve --kubeconfig":          {[]string{"rollout", "approve", "apps", "--kubeconfig", "/nowhere/config"}, noCluster},
	"rollout approve --context":             {[]string{"rollout", "approve", "apps", "--context", "nowhere"}, ofContext},
	"rollout approve --namespace":           {[]string{"rollout", "approve", "apps", "-n", "A_b"}, "--namespace" + ofNamespace},
	"rollout status --timeout":              {[]string{"rollout", "status", "apps", "--timeout", "soon"}, `--timeout "soon": use a duration such as 90s or 10m`},
	"rollout status --revision":             {[]string{"rollout", "status", "apps", "--revision", "new"}, `--revision "new": use a number of at least 0`},
	"rollout history --revision":            {[]string{"rollout", "history", "apps", "--revision", "-1"}, `--revision "-1": use a number of at least 0`},
	"rollout undo --to-revision":            {[]string{"rollout", "undo", "apps", "--to-revision", "f341f7d8d5496930"}, `--to-revision "f341f7d8d5496930": use a number of at least 0`},
	"rollout approve --revision":            {[]string{"rollout", "approve", "apps", "--revision", "7"}, `--revision "7": use the 16 hexadecimal digits that templater diff prints`},
	"run --metrics-cert-dir":                {[]string{"run", "--metrics-cert-dir", "/nowhere"}, "--metrics-cert-dir requires --metrics-secure"},
	"run --webhook-cert-dir":                {[]string{"run", "--webhook-cert-dir", "/nowhere"}, "--webhook-cert-dir and --webhook-namespace require --webhook-bind-address, as in :9443"},
}

// TestInvalidFlagValuesAreExplained sets each flag of each command to an invalid value.
func TestInvalidFlagValuesAreExplained(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(`{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: c, cluster: {server: "https://example.org"}}], contexts: [{name: a, context: {cluster: c}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	rest := maps.Clone(badFlags)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			name := strings.TrimPrefix(cmd.CommandPath()+" --"+f.Name, "templater ")
			row, found := rest[name]
			delete(rest, name)
			if f.Value.Type() == "bool" {
				row.args = append(strings.Fields(strings.TrimPrefix(cmd.CommandPath(), "templater")), "--"+f.Name+"=maybe")
				row.want = "--" + f.Name + ` "maybe": use true or false`
			} else if !found {
				t.Errorf("%s: no row in badFlags", name)
				return
			}
			out, err := execute(t, row.args...)
			if err == nil || err.Error() != row.want {
				t.Errorf("%s: got error %v\nwant %s", name, err, row.want)
			}
			if strings.Count(out, "\n") > 0 && cmd.Name() != "test" { // test also prints its cases
				t.Errorf("%s: besides the error, it prints:\n%s", name, out)
			}
		})
	}
	walk(newCommand("templater"))
	if names := slices.Sorted(maps.Keys(rest)); len(names) > 0 {
		t.Errorf("badFlags contains unknown flags: %s", strings.Join(names, ", "))
	}
}
