// Package spec compiles and defaults the spec of a TemplateController, without contacting the API server.
package spec

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Compiled is a compiled spec. It does not depend on the cluster, and is created once per generation.
type Compiled struct {
	Program           *render.Program
	GVK               schema.GroupVersionKind // of the parents
	Resync            time.Duration           // 0 = never
	Labels            labels.Selector         // of parents
	Fields            string                  // a field selector as text; "" = all
	NamespaceSelector labels.Selector         // nil = none
	ReadyCondition    string                  // "" = none
	Related           []Related               // in the order of the spec
	Order             *Order                  // of spec.children; nil = no dependencies
	FinalOrder        *Order                  // of spec.finalize.children
	Unread            bool                    // whether the selectors are invalid, so that it is unknown which objects are parents
}

// Compile compiles the templates and parses the selectors of a spec. With a rejection, it returns only the selectors that identify the parents,
// without templates and filter. If any selector is invalid, the result selects all objects: see Unread. If the kind of the parents is unknown,
// the result is nil. The rejection lists all errors; its message is the first one.
func Compile(key string, spec *v1.TemplateControllerSpec) (*Compiled, *Rejection) {
	compiled, rejection, _ := CompileWith(nil, key, spec)
	return compiled, rejection
}

// Partial is the valid part of a rejected spec. It is only used for checks.
type Partial struct {
	// Program has the valid templates. It is nil if there is nothing to check. It must not be executed.
	Program *render.Program
	// Whole is true if Program has all templates.
	Whole bool
}

// CompileWith is like Compile, and also returns the valid part of a rejected spec. pause is called periodically and can be nil. If it returns an
// error, compilation stops and the results are undefined.
func CompileWith(pause func() error, key string, spec *v1.TemplateControllerSpec) (*Compiled, *Rejection, Partial) {
	_, name := v1.SplitKey(key)
	if r := checkSize(spec); r != nil {
		return Uncompiled(key, spec), r, Partial{}
	}
	gvk, r := kindOf("spec.watch", spec.Watch.APIVersion, spec.Watch.Kind)
	c := &Compiled{GVK: gvk, ReadyCondition: ReadyCondition(spec)}
	selectors, others := c.parse(spec)
	parents := *c
	sound, templates := c.compile(pause, name, spec)
	r = joined(r, selectors, others, checkNames(spec), inChildren.checkRollouts(spec.Children), inFinalize.checkRollouts(Finals(spec)), inChildren.checkCreateOnly(spec.Children), inFinalize.checkCreateOnly(Finals(spec)), templates)
	if r == nil {
		return c, nil, Partial{}
	}
	return parents.identify(name, selectors), r, partialOf(sound, c.Program != nil, r)
}

// partialOf returns the valid templates of those that have been compiled. whole is whether all templates have been compiled.
func partialOf(sound *render.Program, whole bool, r *Rejection) Partial {
	if sound == nil {
		return Partial{}
	}
	names := make(map[string]bool, len(r.Findings))
	for _, f := range r.Findings {
		names[f.Where] = true
	}
	program, had := sound.Without(names)
	return Partial{program, whole && !had}
}

// Uncompiled returns what Compile returns with a rejection, without compiling anything.
func Uncompiled(key string, spec *v1.TemplateControllerSpec) *Compiled {
	_, name := v1.SplitKey(key)
	gvk, _ := kindOf("spec.watch", spec.Watch.APIVersion, spec.Watch.Kind)
	c := &Compiled{GVK: gvk, ReadyCondition: ReadyCondition(spec)}
	selectors, _ := c.parse(spec)
	return c.identify(name, selectors)
}

// identify returns a parsed spec without templates. invalid describes errors in its selectors, or is nil.
func (c *Compiled) identify(name string, invalid *Rejection) *Compiled {
	if c.GVK.Empty() {
		return nil
	}
	if invalid != nil {
		c = c.unread()
	}
	c.Program, _ = render.Compile(render.Source{Controller: name}) // an empty program always compiles
	return c
}

// unread returns the usable part of a spec whose selectors are invalid.
func (c *Compiled) unread() *Compiled {
	return &Compiled{GVK: c.GVK, ReadyCondition: c.ReadyCondition, Labels: labels.Everything(), Unread: true}
}

// kindOf parses an apiVersion and kind in the spec.
func kindOf(where, apiVersion, kind string) (schema.GroupVersionKind, *Rejection) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, wrong(finding.APIVersion, where+".apiVersion", "must be group/version, or version for the core group")
	}
	return gv.WithKind(kind), nil
}

// compile compiles the templates, and determines the dependencies of child templates. It also returns the program with the valid templates. This
// is nil if they cannot be separated, or if spec.values is invalid: otherwise each template that reads a value would seem to be invalid.
func (c *Compiled) compile(pause func() error, name string, spec *v1.TemplateControllerSpec) (sound *render.Program, r *Rejection) {
	source, values := sourceOf(name, spec)
	source.Pause = pause
	awaits := func(string) []string { return nil }
	program, err := render.CompilePartial(source)
	if r = values; err != nil {
		r = joined(r, badTemplates(err))
	} else {
		c.Program, awaits = program, program.Awaits
	}
	if values == nil {
		sound = program
	}
	var first, last *Rejection
	c.Order, first = inChildren.order(spec.Children, awaits)
	c.FinalOrder, last = inFinalize.order(Finals(spec), awaits)
	return sound, joined(r, first, last, checkReads(spec, awaits))
}

// parse parses all of a spec except its templates. It returns errors in the selectors of parents, and other errors.
func (c *Compiled) parse(spec *v1.TemplateControllerSpec) (selectors, others *Rejection) {
	var labels, namespaces, fields *Rejection
	period := c.parsePeriod(spec.ResyncPeriod)
	c.Labels, labels = selectorOf("spec.watch.labelSelector", spec.Watch.LabelSelector)
	if c.NamespaceSelector, namespaces = selectorOf("spec.watch.namespaceSelector", spec.Watch.NamespaceSelector); namespaces == nil && c.NamespaceSelector.Empty() {
		c.NamespaceSelector = nil
	}
	c.Fields, fields = fieldsOf("spec.watch.fieldSelector", spec.Watch.FieldSelector)
	return joined(labels, namespaces, fields), joined(period, checkTimeout(spec.Finalize), checkRollout(spec), checkFilter(spec), c.parseRelated(spec.Related))
}

// leastPeriod is the shortest resyncPeriod, except for 0s, which disables the resync.
const leastPeriod = time.Second

// duration is the format of durations: GEP-2257 of the Gateway API.
var duration = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

func (c *Compiled) parsePeriod(text string) *Rejection {
	if text == "" {
		return nil
	}
	var fault string
	if c.Resync, fault = parseDuration(text); fault != "" {
		return wrong(finding.Duration, "spec.resyncPeriod", "%s0s for never", fault)
	}
	return nil
}

// parseDuration parses a duration. It returns an error message, which the caller must complete with the meaning of 0s, or "".
func parseDuration(text string) (time.Duration, string) {
	period, _ := time.ParseDuration(text) // the format is checked below
	switch {
	case !duration.MatchString(text):
		return 0, "must be a duration such as 90s or 1h30m, with the units h, m, s and ms, or "
	case period != 0 && period < leastPeriod:
		return 0, "must be at least 1s, or "
	}
	return period, ""
}

// selectorFault returns a rejection that names the invalid field of a selector, without its value.
func selectorFault(where string, selector *metav1.LabelSelector) *Rejection {
	message := "not valid"
	if fault := firstFault(selector, field.NewPath(where)); fault != nil {
		where, message = fault.Field, "not valid: use valid label keys and values; operators are In, NotIn, Exists and DoesNotExist, the last two without values"
	}
	r := wrong(finding.Selector, where, "%s", message)
	r.Message = where + " is " + message
	return r
}

// firstFault returns an error in a selector, or nil. It does not collect all errors, because that may take a thousand times the memory of the
// selector.
func firstFault(selector *metav1.LabelSelector, where *field.Path) *field.Error {
	for key, value := range selector.MatchLabels {
		if faults := validation.ValidateLabels(map[string]string{key: value}, where.Child("matchLabels")); len(faults) > 0 {
			return faults[0]
		}
	}
	for i, each := range selector.MatchExpressions {
		if faults := validation.ValidateLabelSelectorRequirement(each, validation.LabelSelectorValidationOptions{}, where.Child("matchExpressions").Index(i)); len(faults) > 0 {
			return faults[0]
		}
	}
	return nil
}

// sourceOf returns the templates of a spec as input for the renderer. If spec.values is invalid, the values are missing.
func sourceOf(name string, spec *v1.TemplateControllerSpec) (render.Source, *Rejection) {
	source := render.Source{
		Controller: name, LeftDelim: spec.Delimiters.Left, RightDelim: spec.Delimiters.Right,
		Helpers: spec.Helpers,
	}
	var r *Rejection
	source.Values, r = valuesOf(spec)
	for _, related := range spec.Related {
		source.Related = append(source.Related, syntax.Template{Name: related.Name, Text: related.Select})
		source.Logs = source.Logs || related.Logs != nil
	}
	add := func(child v1.Child) {
		source.Children = append(source.Children, syntax.Template{Name: child.Name, Text: child.Template})
		if child.ReadyWhen != "" {
			source.ReadyWhen = append(source.ReadyWhen, syntax.Template{Name: child.Name, Text: child.ReadyWhen})
		}
	}
	for _, child := range spec.Children {
		add(child)
	}
	names := namesOf(spec.Children)
	for _, final := range Finals(spec) {
		if !names[final.Name] { // checkNames reports duplicates
			add(final)
		}
	}
	if spec.Status != nil {
		source.Status = spec.Status.Template
	}
	source.Filter, source.FilterSeesStatus = spec.Watch.Filter, !mayWriteStatus(spec)
	return source, r
}

// mayWriteStatus reports whether templater may write the status of parents. It never writes the status of built-in kinds.
func mayWriteStatus(spec *v1.TemplateControllerSpec) bool {
	return !slices.Contains(kind.BuiltIn(), WatchedKind(spec)) && (ReadyCondition(spec) != "" || spec.Status != nil && spec.Status.Template != "")
}

// checkFilter rejects a filter that reads fields that templater writes in parents.
func checkFilter(spec *v1.TemplateControllerSpec) *Rejection {
	names := []string{"templater.dev/", ".metadata.finalizers"}
	if mayWriteStatus(spec) {
		names = append(names, ".parent.status")
	}
	for _, name := range names {
		if strings.Contains(spec.Watch.Filter, name) {
			return wrong(finding.Selector, syntax.FilterName, "it reads %s, which templater itself writes: use other fields", name)
		}
	}
	return nil
}

// valuesOf parses spec.values.
func valuesOf(spec *v1.TemplateControllerSpec) (map[string]any, *Rejection) {
	if spec.Values == nil {
		return nil, nil
	}
	values, err := data.ReadValues("spec.values", spec.Values.Raw)
	if err == nil {
		return values, nil
	}
	where, message := "spec.values", "this is not a mapping"
	if number, ok := errors.AsType[*data.NumberError](err); ok {
		where, message = number.Path, number.Message
	}
	r := wrong(finding.Values, where, "%s", message)
	r.Message = err.Error()
	return nil, r
}

// badTemplates returns a Rejection for templates that do not compile, with all errors as findings.
func badTemplates(err error) *Rejection {
	r := &Rejection{Reason: v1.ReasonInvalidTemplate}
	var texts []string
	all, _ := errors.AsType[syntax.Errors](err)
	for _, e := range all {
		r.Findings = append(r.Findings, e.Finding())
		if e.Code != finding.NotShown {
			texts = append(texts, e.Error())
		}
	}
	r.Message = problem.Join(texts)
	return r
}
