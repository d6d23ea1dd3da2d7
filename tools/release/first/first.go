// Package first generates the manifests for the first steps after the installation: a custom kind with its
// TemplateController, and an object of that kind.
package first

import (
	_ "embed" // for the RBAC rules
	"os"
	"path/filepath"

	"github.com/templater-dev/templater/tools/release/manifest"
)

// sample is the sample in config/samples for these steps.
const sample = "simpledeployment"

// rules is the output of templater rbac for the sample.
//
//go:embed rbac.yaml
var rules []byte

// Controller returns the CRD, its TemplateController and the permissions that templater needs for it, preceded by
// comment.
func Controller(source, comment string) ([]byte, error) {
	objects, err := manifest.Sample(source, sample)
	if err != nil {
		return nil, err
	}
	text, err := manifest.Text(comment, objects)
	return append(append(text, "---\n"...), rules...), err
}

// Object returns an object of the kind.
func Object(source string) ([]byte, error) {
	return os.ReadFile(filepath.Join(source, "config", "samples", sample, "example.yaml"))
}
