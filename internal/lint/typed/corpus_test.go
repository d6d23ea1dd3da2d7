package typed

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

const repository = "../../.."

// sample is a TemplateController of this repository.
type sample struct {
	file string
	*v1.TemplateController
}

// check returns what is found in it.
func (s sample) check(t *testing.T, known openapi.Set) []finding.Finding {
	t.Helper()
	compiled, rejection := spec.Compile(s.Name, &s.Spec)
	if rejection != nil {
		t.Fatalf("%s: %s: %s", s.file, s.Name, rejection.Message)
	}
	return Check(nil, s.TemplateController, compiled.Program, known)
}

var (
	betweenDocuments = regexp.MustCompile(`(?m)^---.*$`)
	codeBlock        = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	inArchive        = regexp.MustCompile(`(?m)^-- .* --$`)
)

// samples returns the TemplateControllers of the repository, and the schemas of the kinds that are defined there.
func samplesOf(t *testing.T) (all []sample, known openapi.Set) {
	t.Helper()
	var sets []openapi.Set
	add := func(file, text string) {
		for _, document := range betweenDocuments.Split(text, -1) {
			var head struct{ Kind string }
			if yaml.Unmarshal([]byte(document), &head) != nil {
				continue
			}
			switch head.Kind {
			case "TemplateController":
				tc := &v1.TemplateController{}
				if err := yaml.Unmarshal([]byte(document), tc); err != nil {
					t.Fatalf("%s: %s", file, err)
				}
				all = append(all, sample{file, tc})
			case "CustomResourceDefinition":
				crd := &apiextensionsv1.CustomResourceDefinition{}
				if err := yaml.Unmarshal([]byte(document), crd); err != nil {
					t.Fatalf("%s: %s", file, err)
				}
				sets = append(sets, openapi.FromCRD(crd))
			}
		}
	}
	for _, folder := range []string{"config/samples", "docs", "README.md", "e2e/testdata", "internal/lint/typed/testdata"} {
		err := filepath.WalkDir(filepath.Join(repository, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			ext := filepath.Ext(path)
			if filepath.Base(path) == "findings.md" {
				return nil // whose examples are wrong on purpose
			}
			if ext != ".yaml" && ext != ".md" && ext != ".txtar" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			switch ext {
			case ".yaml":
				add(path, string(text))
			case ".txtar":
				for _, file := range inArchive.Split(string(text), -1) {
					add(path, file)
				}
			case ".md":
				for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
					add(path, block[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, openapi.Join(append(sets, openapi.BuiltIn())...)
}

func TestSamplesHaveNoFalsePositives(t *testing.T) {
	all, known := samplesOf(t)
	for _, s := range all {
		if strings.Contains(s.file, "badinput") {
			continue
		}
		for _, f := range s.check(t, known) {
			t.Logf("%s: %s: %s", s.file, f.Severity, f)
			if f.Severity == finding.Error {
				t.Errorf("%s: %s", s.file, f)
			}
		}
	}
	t.Logf("%d TemplateControllers", len(all))
}
