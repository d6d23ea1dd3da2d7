package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const pipelinesPage = "../../docs/reference/commands/README.md"

// inExamples runs a shell command in a copy of the examples. HOME is the copy, and templater and HOME/bin are in the PATH.
func inExamples(t *testing.T, folder, line string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), "sh", "-e", "-c", line)
	run.Dir = folder
	run.Env = append(os.Environ(), "HOME="+folder, "PATH="+filepath.Join(folder, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

func examples(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/examples")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// section returns the first code block of a language below a text of the page.
func section(t *testing.T, below, language string) string {
	t.Helper()
	page, err := os.ReadFile(pipelinesPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), below)
	_, rest, begins := strings.Cut(rest, "```"+language+"\n")
	block, _, ends := strings.Cut(rest, "```\n")
	if !found || !begins || !ends {
		t.Fatalf("%s has no %s below %q", pipelinesPage, language, below)
	}
	return block
}

// TestKubectlPluginPage runs the commands of the page with the installed kubectl.
func TestKubectlPluginPage(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is not installed")
	}
	out := inExamples(t, examples(t), section(t, "## kubectl plugin", "sh")+"kubectl templater lint --help\n")
	for _, want := range []string{"TemplateController: no findings\n", "kubectl templater lint PATH"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// TestGitHubActionsPage runs the templater steps of the page.
func TestGitHubActionsPage(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Run, Uses string } }
	}
	if err := yaml.Unmarshal([]byte(section(t, "GitHub Actions", "yaml")), &workflow); err != nil {
		t.Fatal(err)
	}
	folder := examples(t)
	for _, step := range workflow.Jobs["lint"].Steps {
		if strings.HasPrefix(step.Run, "templater ") {
			inExamples(t, folder, step.Run)
		}
	}
	var log struct{ Version string }
	text, err := os.ReadFile(filepath.Join(folder, "findings.sarif"))
	if err == nil {
		err = json.Unmarshal(text, &log)
	}
	if err != nil || log.Version != "2.1.0" {
		t.Errorf("the SARIF file has version %q: %v", log.Version, err)
	}
}

// TestPreCommitHook runs the same command as pre-commit: the entry of the hook with the arguments of the page.
func TestPreCommitHook(t *testing.T) {
	var config struct {
		Repos []struct {
			Hooks []struct {
				ID   string
				Args []string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(section(t, "[pre-commit]", "yaml")), &config); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Files string
		PassFilenames    *bool `json:"pass_filenames"`
	}
	if err := yaml.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(config.Repos) != 1 || len(config.Repos[0].Hooks) != 1 || len(hooks) != 1 || config.Repos[0].Hooks[0].ID != hooks[0].ID || hooks[0].PassFilenames == nil || *hooks[0].PassFilenames {
		t.Fatalf("the page uses %+v, and the hooks are %+v", config, hooks)
	}
	if files := regexp.MustCompile(hooks[0].Files); !files.MatchString("config/app.yaml") || files.MatchString("README.md") {
		t.Errorf("the hook runs for %s", files)
	}
	folder := examples(t)
	line := hooks[0].Entry + " " + strings.Join(config.Repos[0].Hooks[0].Args, " ")
	if out := inExamples(t, folder, line); !strings.Contains(out, "no findings") {
		t.Errorf("%s: %s", line, out)
	}
	if err := os.WriteFile(filepath.Join(folder, "config", "app.yaml"), []byte("apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: a}\nspec: {watch: {apiVersion: v1, kind: Pod}, children: [{name: a, template: \"{{ if }}\"}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inExamples(t, folder, "! "+line)
}
