package playground

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Session answers requests, one at a time. It caches results between requests: an unchanged text is not
// parsed again, and TemplateControllers are only compiled again if they or the CustomResourceDefinitions have changed. The answers are those of a
// new Session. The zero Session is ready. It is safe for concurrent use.
type Session struct {
	mu      sync.Mutex
	texts   map[string]text // by name
	checked checked
}

// text is a parsed text.
type text struct {
	content string
	set     *manifest.Set
	err     error
}

// checked has the compiled TemplateControllers.
type checked struct {
	of          *manifest.Set      // with the TemplateControllers
	definitions []*manifest.Object // used for the check
	located     []report.Located
	summary     report.Summary
	controllers []controller
}

// controller is a compiled TemplateController.
type controller struct {
	*manifest.Controller
	compiled  *spec.Compiled
	simulator *simulate.Simulator // nil if the operator would reject it
}

// Answer answers a request. It never panics.
func (s *Session) Answer(r Request) (a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if fault := recover(); fault != nil {
			s.texts, s.checked = nil, checked{}
			a = answer()
			a.Problems = []Problem{{Message: fmt.Sprintf("internal error in templater: please report it with the contents of the editors: %v", fault)}}
		}
	}()
	b := builder{Request: r, Session: s, answer: answer()}
	b.run()
	return b.answer
}

// AnswerJSON is Answer with JSON.
func (s *Session) AnswerJSON(request []byte) []byte {
	var r Request
	var a Answer
	if err := json.Unmarshal(request, &r); err != nil {
		a = answer()
		a.Problems = []Problem{{Message: "unknown request from the page: reload the page"}}
	} else {
		a = s.Answer(r)
	}
	out, err := json.Marshal(a)
	if err != nil {
		return []byte(`{"problems":[{"text":"","line":0,"column":0,"message":"internal error in templater: the result is not JSON: please report it with the contents of the editors"}],"findings":[],"summary":{},"results":[]}`)
	}
	return out
}

// read parses a text, or returns the cached result.
func (s *Session) read(name, content string) (*manifest.Set, error) {
	last, there := s.texts[name]
	if !there || last.content != content {
		set, err := manifest.Parse(name, content)
		if s.texts == nil {
			s.texts = map[string]text{}
		}
		last = text{content, set, err}
		s.texts[name] = last
	}
	return last.set, last.err
}

// check checks the TemplateControllers of the first set with the CustomResourceDefinitions of all sets, or returns the cached result. The error is
// a [*manifest.Error] about one of the definitions.
func (s *Session) check(sets []*manifest.Set) (*checked, error) {
	var definitions []*manifest.Object
	for _, set := range sets {
		definitions = append(definitions, set.CRDs...)
	}
	if s.checked.of == sets[0] && slices.Equal(s.checked.definitions, definitions) {
		return &s.checked, nil
	}
	known, err := lint.Know(sets...)
	if err != nil {
		return nil, err
	}
	results := known.Compile(sets[0])
	c := checked{of: sets[0], definitions: definitions}
	c.located, c.summary = known.Report(sets[0], results)
	for i, of := range sets[0].Controllers {
		one := controller{Controller: of, compiled: results[i].Compiled}
		rejection := results[i].Rejection // invalid spec.crd is already reported
		if rejection == nil {
			one.simulator, rejection = simulate.New(of.TemplateController, one.compiled, known.Kinds, known.Schemas)
		}
		if one.simulator != nil {
			one.simulator.Validates = true
		}
		if rejection != nil {
			c.located = append(c.located, report.Locate(of.TemplateController.Key(), of, rejection.Findings)...)
		}
		c.controllers = append(c.controllers, one)
	}
	s.checked = c
	return &s.checked, nil
}
