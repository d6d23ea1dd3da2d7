package howto

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

// kroExamples are the Kubernetes examples of kro that are about children, at https://github.com/kubernetes-sigs/kro/tree/main/examples/kubernetes,
// with their lines without blank lines and comments. Ours are in testdata/kro.
var kroExamples = []struct {
	ours, theirs string
	lines        int
}{
	{"simple-deployment.yaml", "simple-deployment/rg.yaml", 76},
	{"printer-columns.yaml", "additionalPrinterColumns/rg.yaml", 54},
	{"checksum-restart.yaml", "configmap-checksum-restart/rg.yaml", 46},
	{"core-dns.yaml", "core-dns/core-dns.yaml", 181},
	{"job.yaml", "job-example/rgd.yaml", 52},
	{"webapp.yaml", "webapp/rg.yaml", 110},
	{"tenant-environment.yaml", "saas-multi-tenant/tenant-environment-rgd.yaml", 49},
}

func TestKroExamplesNeedFewerLines(t *testing.T) {
	page := read(t, "coming-from/kro/README.md")
	for _, example := range kroExamples {
		t.Run(example.ours, func(t *testing.T) {
			file := filepath.Join("testdata", "kro", example.ours)
			lines := countLines(t, file)
			if lines >= example.lines {
				t.Errorf("%d lines, and kro needs %d", lines, example.lines)
			}
			if row := fmt.Sprintf("| `%s` | %d | [%d](../../testdata/kro/%s) |\n", example.theirs, example.lines, lines, example.ours); !strings.Contains(page, row) {
				t.Errorf("the page has no row %s", row)
			}
			set, err := manifest.LoadControllers([]string{file}, nil)
			if err != nil {
				t.Fatal(err)
			}
			passLint(t, set)
		})
	}
}
