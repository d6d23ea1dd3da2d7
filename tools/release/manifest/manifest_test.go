package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = "../../.."

func kinds(objects []map[string]any) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o["kind"].(string))
	}
	return all
}

func TestObjectsAreInInstallOrder(t *testing.T) {
	objects, err := Objects(source, Image{Repository: "registry.example.org/templater", Digest: "sha256:" + strings.Repeat("a", 64)})
	if err != nil {
		t.Fatal(err)
	}
	crd := "CustomResourceDefinition"
	if diff := cmp.Diff([]string{"Namespace", crd, crd, crd, "ServiceAccount"}, kinds(objects)[:5]); diff != "" {
		t.Errorf("the first objects (-want +got):\n%s", diff)
	}
	text, err := Text("a comment", objects)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "# a comment\n---\napiVersion: v1\nkind: Namespace\n") || strings.Count(string(text), "\n---\n") != len(objects) {
		t.Errorf("%d objects became %.100s…", len(objects), text)
	}
}

func TestSampleOmitsExampleParent(t *testing.T) {
	objects, err := Sample(source, "simpledeployment")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"CustomResourceDefinition", "TemplateController"}, kinds(objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestErrorsNameMissingObjects(t *testing.T) {
	if _, err := Sample(source, "none"); err == nil || !strings.Contains(err.Error(), "kustomize config/samples/none") {
		t.Errorf("a sample that is not there: got error %v", err)
	}
	if _, err := Objects(t.TempDir(), Image{}); err == nil || !strings.Contains(err.Error(), "config: no such file") {
		t.Errorf("a folder that is no clone: got error %v", err)
	}
	if _, err := Find(nil, "Deployment", "templater"); err == nil || !strings.Contains(err.Error(), "no Deployment templater any more") {
		t.Errorf("a deleted object: got error %v", err)
	}
}
