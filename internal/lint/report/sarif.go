package report

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// The part of SARIF 2.1.0 that is used: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      finding.Code `json:"id"`
		Short   sarifText    `json:"shortDescription"`
		Full    sarifText    `json:"fullDescription"`
		Help    sarifText    `json:"help"`
		HelpURI string       `json:"helpUri"`
		Default struct {
			Level finding.Severity `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    finding.Code     `json:"ruleId"`
		RuleIndex int              `json:"ruleIndex"`
		Level     finding.Severity `json:"level"` // the same words as in SARIF
		Message   sarifText        `json:"message"`
		Locations []sarifLocation  `json:"locations"`
		Fixes     []sarifFix       `json:"fixes,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"` // exclusive
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted sarifText   `json:"insertedContent"`
	}
)

// SARIF writes a SARIF 2.1.0 log, for services that show findings next to the code. It lists all rules.
func SARIF(w io.Writer, all []Located) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: make([]sarifResult, len(all))}
	run.Tool.Driver = sarifDriver{Name: "templater", InformationURI: "https://github.com/templater-dev/templater"}
	rules := finding.Rules()
	for _, r := range rules {
		rule := sarifRule{ID: r.Code, Short: sarifText{r.Title}, Full: sarifText{r.Why}, Help: sarifText{r.Fix}, HelpURI: finding.Page(r.Code)}
		rule.Default.Level = r.Severity
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
	}
	for i, l := range all {
		run.Results[i] = l.result()
		run.Results[i].RuleIndex = slices.IndexFunc(rules, func(r finding.Rule) bool { return r.Code == l.Code })
	}
	return WriteJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func (l Located) result() sarifResult {
	artifact := sarifArtifact{uriOf(l.File)}
	at := sarifPhysical{Artifact: artifact}
	if l.FileLine > 0 {
		at.Region = &sarifRegion{StartLine: l.FileLine, StartColumn: l.FileColumn}
	}
	var fixes []sarifFix
	if l.FileColumn > 0 && l.Length > 0 && l.FileColumn-1+l.Length <= utf8.RuneCountInString(l.Text) {
		at.Region.EndColumn = l.FileColumn + l.Length
		if l.Replacement != "" {
			fixes = []sarifFix{{sarifText{"Write " + l.Replacement}, []sarifChange{{artifact, []sarifReplacement{{*at.Region, sarifText{l.Replacement}}}}}}}
		}
	}
	name := l.TemplateController + "/" + l.Where
	return sarifResult{RuleID: l.Code, Level: l.Severity, Message: sarifText{l.Message}, Locations: []sarifLocation{{at, []sarifLogical{{name}}}}, Fixes: fixes}
}

// uriOf returns the URI of a file: relative for a relative path.
func uriOf(file string) string {
	if file == "-" {
		return "stdin"
	}
	return address(filepath.ToSlash(file), filepath.IsAbs(file))
}

// address returns the URI of a path with slashes. Absolute paths begin with a slash or, on Windows, with a drive letter.
func address(path string, whole bool) string {
	if !whole {
		return (&url.URL{Path: path}).String()
	}
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
}
