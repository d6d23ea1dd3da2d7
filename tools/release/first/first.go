// Package first makes the first steps behind the installation: a kind of one's own and its TemplateController, and
// an object of that kind.
package first

import (
	_ "embed" // for the rights
	"os"
	"path/filepath"

	"github.com/templater-dev/templater/tools/release/manifest"
)

// sample is the sample of config/samples that the steps are of.
const sample = "simpledeployment"

// rights are what templater rbac says that the sample needs.
//
//go:embed rights.yaml
var rights []byte

// Controller returns the kind, its TemplateController and the rights that templater needs for it. comment comes first.
func Controller(source, comment string) ([]byte, error) {
	objects, err := manifest.Sample(source, sample)
	if err != nil {
		return nil, err
	}
	text, err := manifest.Text(comment, objects)
	return append(append(text, "---\n"...), rights...), err
}

// Object returns an object of the kind.
func Object(source string) ([]byte, error) {
	return os.ReadFile(filepath.Join(source, "config", "samples", sample, "example.yaml"))
}
