// Package spec compiles the spec of a TemplateController and applies its defaults, as far as no server is needed.
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

// Compiled is what can be made of a spec without asking the server. It is made once per
// generation.
type Compiled struct {
	Program           *render.Program
	GVK               schema.GroupVersionKind // of the parents
	Resync            time.Duration           // 0 = never
	Labels            labels.Selector         // of parents
	Fields            string                  // a field selector in its text form; "" = all
	NamespaceSelector labels.Selector         // nil = none
	ReadyCondition    string                  // "" = none
	Related           []Related               // in the order of the spec
	Order             *Order                  // of spec.children; nil = none waits for another
	FinalOrder        *Order                  // of spec.finalize.children
	Unread            bool                    // whether the selectors are invalid: it is not known which objects are the parents
}

// Compile compiles the templates and parses the selectors of a spec. With a rejection, it returns only what identifies the parents: the
// selectors, without templates and filter. It selects all objects where a selector is invalid. It is nil where the kind of the parents is
// unknown. The rejection lists all errors; its message is that of the first one.
func Compile(name string, spec *v1.TemplateControllerSpec) (*Compiled, *Rejection) {
	compiled, rejection, _ := CompileWith(nil, name, spec)
	return compiled, rejection
}

// Partial is what makes sense of a rejected spec, for checks alone.
type Partial struct {
	// Program has the templates in which nothing is wrong. It is nil where there is nothing to check; it must not be executed.
	Program *render.Program
	// Whole is whether these are all templates.
	Whole bool
}

// CompileWith is Compile that also returns what makes sense of a rejected spec. An error of pause, which is called now and then, ends the
// work: what it returns then means nothing. nil is for no pauses.
func CompileWith(pause func() error, name string, spec *v1.TemplateControllerSpec) (*Compiled, *Rejection, Partial) {
	if r := checkSize(spec); r != nil {
		return Uncompiled(name, spec), r, Partial{}
	}
	gvk, r := kindOf("spec.watch", spec.Watch.APIVersion, spec.Watch.Kind)
	c := &Compiled{GVK: gvk, ReadyCondition: ReadyCondition(spec)}
	selectors, others := c.parse(spec)
	parents := *c
	sound, templates := c.compile(pause, name, spec)
	r = joined(r, selectors, others, checkNames(spec), inChildren.checkRollouts(spec.Children), inFinalize.checkRollouts(Finals(spec)), templates)
	if r == nil {
		return c, nil, Partial{}
	}
	return parents.identify(name, selectors), r, partialOf(sound, c.Program != nil, r)
}

// partialOf returns the templates in which nothing is wrong of those that have been compiled. whole is whether that is all of them.
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

// Uncompiled returns what identifies the parents of a spec, as Compile does with a rejection, without compiling anything.
func Uncompiled(name string, spec *v1.TemplateControllerSpec) *Compiled {
	gvk, _ := kindOf("spec.watch", spec.Watch.APIVersion, spec.Watch.Kind)
	c := &Compiled{GVK: gvk, ReadyCondition: ReadyCondition(spec)}
	selectors, _ := c.parse(spec)
	return c.identify(name, selectors)
}

// identify returns a spec that has been parsed as one without templates. invalid says what is wrong with its selectors, nil = nothing.
func (c *Compiled) identify(name string, invalid *Rejection) *Compiled {
	if c.GVK.Empty() {
		return nil
	}
	if invalid != nil {
		c = c.unread()
	}
	c.Program, _ = render.Compile(render.Source{Controller: name}) // which always compiles
	return c
}

// unread returns what is left of a spec whose selectors are invalid.
func (c *Compiled) unread() *Compiled {
	return &Compiled{GVK: c.GVK, ReadyCondition: c.ReadyCondition, Labels: labels.Everything(), Unread: true}
}

// kindOf returns the kind that a part of the spec names.
func kindOf(where, apiVersion, kind string) (schema.GroupVersionKind, *Rejection) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, wrong(finding.APIVersion, where+".apiVersion", "write group/version, or version for the core group")
	}
	return gv.WithKind(kind), nil
}

// compile compiles the templates, and finds out which child templates wait for which others. It also returns the templates without errors, nil
// if these cannot be separated, or if spec.values is invalid: then each template that reads a value would seem to be invalid.
func (c *Compiled) compile(pause func() error, name string, spec *v1.TemplateControllerSpec) (sound *render.Program, r *Rejection) {
	source, values := sourceOf(name, spec)
	source.Pause = pause
	awaits := func(string) []string { return nil }
	program, err := render.CompileSound(source)
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

// parse reads all of a spec but its templates. It returns what is wrong with the selectors of parents, and with the rest.
func (c *Compiled) parse(spec *v1.TemplateControllerSpec) (selectors, others *Rejection) {
	var labels, namespaces, fields *Rejection
	period := c.parsePeriod(spec.ResyncPeriod)
	c.Labels, labels = selectorOf("spec.watch.labelSelector", spec.Watch.LabelSelector)
	if c.NamespaceSelector, namespaces = selectorOf("spec.watch.namespaceSelector", spec.Watch.NamespaceSelector); namespaces == nil && c.NamespaceSelector.Empty() {
		c.NamespaceSelector = nil
	}
	c.Fields, fields = fieldsOf("spec.watch.fieldSelector", spec.Watch.FieldSelector)
	return joined(labels, namespaces, fields), joined(period, checkTimeout(spec.Finalize), checkFilter(spec), c.parseRelated(spec.Related))
}

// leastPeriod is the shortest resyncPeriod but 0s, which is never.
const leastPeriod = time.Second

// duration is what a duration looks like: GEP-2257 of the Gateway API.
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

// parseDuration reads a duration. It returns what is wrong with it, but for what 0s is for.
func parseDuration(text string) (time.Duration, string) {
	period, _ := time.ParseDuration(text) // it reads whatever looks like one
	switch {
	case !duration.MatchString(text):
		return 0, "write a duration of whole numbers and h, m, s or ms, such as 90s or 1h30m, or "
	case period != 0 && period < leastPeriod:
		return 0, "write 1s or more, or "
	}
	return period, ""
}

// selectorFault says which field of a selector is wrong, without its value.
func selectorFault(where string, selector *metav1.LabelSelector) *Rejection {
	message := "not valid"
	if fault := firstFault(selector, field.NewPath(where)); fault != nil {
		where, message = fault.Field, "not valid: use valid label keys and values; operators are In, NotIn, Exists and DoesNotExist, the last two without values"
	}
	r := wrong(finding.Selector, where, "%s", message)
	r.Message = where + " is " + message
	return r
}

// firstFault returns one thing that is wrong with a selector, or nil. To list all of them may take a thousand times the memory of the selector.
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

// sourceOf returns the templates of a spec as the renderer takes them, without values where these are at fault.
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
		if !names[final.Name] { // which checkNames reports
			add(final)
		}
	}
	if spec.Status != nil {
		source.Status = spec.Status.Template
	}
	source.Filter, source.FilterSeesStatus = spec.Watch.Filter, !mayWriteStatus(spec)
	return source, r
}

// mayWriteStatus reports whether the status of parents may be written. That of built-in kinds never is.
func mayWriteStatus(spec *v1.TemplateControllerSpec) bool {
	return !slices.Contains(kind.BuiltIn(), WatchedKind(spec)) && (ReadyCondition(spec) != "" || spec.Status != nil && spec.Status.Template != "")
}

// checkFilter refuses a filter that names what templater writes into parents.
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

// valuesOf reads spec.values.
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

// badTemplates returns a Rejection of templates that do not compile: it has all that is wrong, and the words of the first.
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
