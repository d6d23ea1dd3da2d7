package spec

import (
	"cmp"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/render"
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
}

// Compile compiles the templates and parses the selectors of a spec. With a rejection, what it returns is for parents that are being
// deleted: it has no templates, and selects all objects where the selectors are at fault.
func Compile(name string, spec *v1.TemplateControllerSpec) (*Compiled, *Rejection) {
	gv, err := schema.ParseGroupVersion(spec.Watch.APIVersion)
	if err != nil {
		return nil, Rejectf(v1.ReasonInvalidSpec, "spec.watch.apiVersion: write group/version, or version for the core group")
	}
	c := &Compiled{GVK: gv.WithKind(spec.Watch.Kind), ReadyCondition: v1.ConditionReady}
	if spec.Status != nil && spec.Status.ReadyCondition != nil {
		c.ReadyCondition = *spec.Status.ReadyCondition
	}
	if c.Program, err = render.Compile(render.Source{Controller: name}); err != nil {
		return nil, Rejectf(v1.ReasonInvalidTemplate, "%s", firstErrors(err))
	}
	if r := c.parse(spec); r != nil {
		return &Compiled{Program: c.Program, GVK: c.GVK, ReadyCondition: c.ReadyCondition, Labels: labels.Everything()}, r
	}
	if r := checkNames(spec); r != nil {
		return c, r
	}
	if r := cmp.Or(inChildren.checkRollouts(spec.Children), inFinalize.checkRollouts(Finals(spec))); r != nil {
		return c, r
	}
	source, r := sourceOf(name, spec)
	if r != nil {
		return c, r
	}
	program, err := render.Compile(source)
	if err != nil {
		return c, Rejectf(v1.ReasonInvalidTemplate, "%s", firstErrors(err))
	}
	if c.Order, r = inChildren.order(spec.Children, program.Awaits); r != nil {
		return c, r
	}
	if c.FinalOrder, r = inFinalize.order(Finals(spec), program.Awaits); r != nil {
		return c, r
	}
	if r := checkReads(spec, program.Awaits); r != nil {
		return c, r
	}
	c.Program = program
	return c, nil
}

func (c *Compiled) parse(spec *v1.TemplateControllerSpec) *Rejection {
	r := c.parsePeriod(spec.ResyncPeriod)
	if r != nil {
		return r
	}
	if f := spec.Finalize; f != nil && f.Timeout != "" {
		if _, fault := parseDuration(f.Timeout); fault != "" {
			return Rejectf(v1.ReasonInvalidSpec, "spec.finalize.timeout: %s0s for no end", fault)
		}
	}
	if c.Labels, r = selectorOf("spec.watch.labelSelector", spec.Watch.LabelSelector); r != nil {
		return r
	}
	if c.NamespaceSelector, r = selectorOf("spec.watch.namespaceSelector", spec.Watch.NamespaceSelector); r != nil {
		return r
	}
	if c.NamespaceSelector.Empty() {
		c.NamespaceSelector = nil
	}
	if c.Fields, r = fieldsOf("spec.watch.fieldSelector", spec.Watch.FieldSelector); r != nil {
		return r
	}
	return c.parseRelated(spec.Related)
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
		return Rejectf(v1.ReasonInvalidSpec, "spec.resyncPeriod: %s0s for never", fault)
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
	for _, fault := range validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{}, field.NewPath(where)) {
		return Rejectf(v1.ReasonInvalidSpec, "%s is not valid: give keys and values that labels can have; the operators are In, NotIn, Exists and DoesNotExist, the last two without values", fault.Field)
	}
	return Rejectf(v1.ReasonInvalidSpec, "%s is not valid", where)
}

// sourceOf returns the templates of a spec as the renderer takes them.
func sourceOf(name string, spec *v1.TemplateControllerSpec) (render.Source, *Rejection) {
	source := render.Source{
		Controller: name, LeftDelim: spec.Delimiters.Left, RightDelim: spec.Delimiters.Right,
		Helpers: spec.Helpers,
	}
	if spec.Values != nil {
		var err error
		if source.Values, err = render.ReadValues("spec.values", spec.Values.Raw); err != nil {
			return source, Rejectf(v1.ReasonInvalidSpec, "%s", err)
		}
	}
	for _, related := range spec.Related {
		source.Related = append(source.Related, syntax.Template{Name: related.Name, Text: related.Select})
	}
	for child := range allEntries(spec) {
		source.Children = append(source.Children, syntax.Template{Name: child.Name, Text: child.Template})
		if child.ReadyWhen != "" {
			source.ReadyWhen = append(source.ReadyWhen, syntax.Template{Name: child.Name, Text: child.ReadyWhen})
		}
	}
	if spec.Status != nil {
		source.Status = spec.Status.Template
	}
	return source, nil
}

// firstErrors is the text of the first findings.
func firstErrors(err error) string {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err.Error()
	}
	var texts []string
	for _, e := range many.Unwrap() {
		texts = append(texts, e.Error())
	}
	return problem.Join(texts)
}
