package syntax

import (
	"slices"
	"strings"
	"testing"
)

// TestUnsupportedFunctionsHaveReasons has each name that templates may not call, by a word of the reason.
func TestUnsupportedFunctionsHaveReasons(t *testing.T) {
	why := map[string]string{}
	for _, f := range Refused() {
		why[f.Name] = f.Refused
	}
	for reason, names := range map[string]string{
		"reads the clock":          "now ago",
		"time zones":               "dateInZone date_in_zone htmlDateInZone",
		"random":                   "randAlphaNum randAlpha randAscii randNumeric randBytes randInt shuffle uuidv4",
		"a new key":                "genPrivateKey genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey buildCustomCert",
		"has a random part":        "bcrypt htpasswd encryptAES",
		"secrets":                  "decryptAES",
		"a third of a second":      "derivePassword",
		"environment":              "env expandenv",
		"the network":              "getHostByName",
		"the operating system":     "osBase osDir osClean osExt osIsAbs",
		"values are never":         "call",
		"parse data as a template": "tpl",
		"queries the API server":   "lookup",
		"files of a chart":         "Files",
		"fromYaml or fromJson":     "fromYamlArray fromJsonArray",
		"toYaml or toJson":         "toToml fromToml",
	} {
		for name := range strings.FieldsSeq(names) {
			if !strings.Contains(why[name], reason) {
				t.Errorf("%s: %q, want a reason with %q", name, why[name], reason)
			}
			delete(why, name)
		}
	}
	for name := range why {
		t.Errorf("%s is rejected unexpectedly", name)
	}
}

func TestUnsupportedFunctionsNameTheirSource(t *testing.T) {
	known := []string{"helm", "sprig", "text/template"}
	for _, f := range Refused() {
		if !slices.Contains(known, f.Source) {
			t.Errorf("%s comes from %q, want one of %q", f.Name, f.Source, known)
		}
	}
}

// TestRejectionsRecommendNoPredictableSecrets: names, UIDs and labels of a parent can be read by many, and so can a hash of them.
func TestRejectionsRecommendNoPredictableSecrets(t *testing.T) {
	for _, f := range Refused() {
		if strings.Contains(f.Refused, "sha256sum") || strings.Contains(f.Refused, "derive one") {
			t.Errorf("%s: %q recommends a value that others can compute", f.Name, f.Refused)
		}
		if strings.HasPrefix(f.Name, "rand") && (!strings.Contains(f.Refused, "Secret") || !strings.Contains(f.Refused, "spec.related")) {
			t.Errorf("%s: %q, want a Secret and how to read it", f.Name, f.Refused)
		}
	}
}
