package cases

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// There is no official standard for the format: this is the common subset. https://github.com/testmoapp/junitxml
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Classname string        `xml:"classname,attr"`
		Seconds   string        `xml:"time,attr"`
		Failure   *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report with a suite for each case, and a test for each step.
func JUnit(w io.Writer, all []Outcome) error {
	var report junitSuites
	for _, o := range all {
		suite := junitSuite{Name: o.Folder}
		for _, s := range o.Steps {
			c := junitCase{Name: s.Name, Classname: o.Folder, Seconds: fmt.Sprintf("%.3f", s.Took.Seconds())}
			if s.Failure != "" {
				c.Failure = &junitFailure{strings.TrimPrefix(s.Parent+": not as expected", ": "), s.Failure}
			}
			suite.Cases = append(suite.Cases, c)
		}
		if len(o.Stale) > 0 {
			suite.Cases = append(suite.Cases, junitCase{Name: "expected files", Classname: o.Folder, Seconds: "0.000", Failure: &junitFailure{"unused files", strings.Join(o.Stale, "\n")}})
		}
		for _, c := range suite.Cases {
			suite.Tests++
			if c.Failure != nil {
				suite.Failures++
			}
		}
		report.Suites = append(report.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
