package reconcile

import (
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

// compiled is what can be made of a spec without asking the server. It is made once per
// generation.
type compiled struct {
	program           *render.Program
	gvk               schema.GroupVersionKind
	resync            time.Duration
	labels            labels.Selector
	fields            string
	namespaceSelector labels.Selector // nil = none
	readyCondition    string
}

// rejection says why a spec does not make sense: a reason and a message of the
// Accepted condition.
type rejection struct{ reason, message string }

func rejectf(reason, format string, args ...any) *rejection {
	return &rejection{reason, fmt.Sprintf(format, args...)}
}

// compile compiles the templates and parses the selectors of a spec.
func compile(name string, spec *v1.TemplateControllerSpec) (*compiled, *rejection) {
	gv, err := schema.ParseGroupVersion(spec.Watch.APIVersion)
	if err != nil {
		return nil, rejectf(v1.ReasonInvalidSpec, "spec.watch.apiVersion: write group/version, or version for the core group")
	}
	c := &compiled{gvk: gv.WithKind(spec.Watch.Kind), readyCondition: v1.ConditionReady}
	if spec.Status != nil && spec.Status.ReadyCondition != nil {
		c.readyCondition = *spec.Status.ReadyCondition
	}
	if r := c.parse(spec); r != nil {
		return nil, r
	}
	source, r := sourceOf(name, spec)
	if r != nil {
		return nil, r
	}
	if c.program, err = render.Compile(source); err != nil {
		return nil, rejectf(v1.ReasonInvalidTemplate, "%s", firstErrors(err))
	}
	return c, nil
}

func (c *compiled) parse(spec *v1.TemplateControllerSpec) *rejection {
	var err error
	if r := c.parsePeriod(spec.ResyncPeriod); r != nil {
		return r
	}
	if c.labels, err = metav1.LabelSelectorAsSelector(spec.Watch.LabelSelector); err != nil {
		return selectorFault("spec.watch.labelSelector", spec.Watch.LabelSelector)
	}
	if spec.Watch.LabelSelector == nil {
		c.labels = labels.Everything()
	}
	if s := spec.Watch.NamespaceSelector; s != nil {
		if c.namespaceSelector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return selectorFault("spec.watch.namespaceSelector", s)
		}
		if c.namespaceSelector.Empty() {
			c.namespaceSelector = nil
		}
	}
	selector, err := fields.ParseSelector(spec.Watch.FieldSelector)
	if err != nil {
		return rejectf(v1.ReasonInvalidSpec, "spec.watch.fieldSelector: write terms such as metadata.name=x, joined by commas")
	}
	c.fields = selector.String()
	return nil
}

// leastPeriod is the shortest resyncPeriod but 0s, which is never.
const leastPeriod = time.Second

// duration is what a duration looks like: GEP-2257 of the Gateway API.
var duration = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

func (c *compiled) parsePeriod(text string) *rejection {
	if text == "" {
		return nil
	}
	period, _ := time.ParseDuration(text) // it reads whatever looks like one
	if !duration.MatchString(text) {
		return rejectf(v1.ReasonInvalidSpec, "spec.resyncPeriod: write a duration of whole numbers and h, m, s or ms, such as 90s or 1h30m, or 0s for never")
	}
	if period != 0 && period < leastPeriod {
		return rejectf(v1.ReasonInvalidSpec, "spec.resyncPeriod: write 1s or more, or 0s for never")
	}
	c.resync = period
	return nil
}

// selectorFault says which field of a selector is wrong, without its value.
func selectorFault(where string, selector *metav1.LabelSelector) *rejection {
	for _, fault := range validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{}, field.NewPath(where)) {
		return rejectf(v1.ReasonInvalidSpec, "%s is not valid: give keys and values that labels can have; the operators are In, NotIn, Exists and DoesNotExist, the last two without values", fault.Field)
	}
	return rejectf(v1.ReasonInvalidSpec, "%s is not valid", where)
}

// sourceOf returns the templates of a spec as the renderer takes them.
func sourceOf(name string, spec *v1.TemplateControllerSpec) (render.Source, *rejection) {
	source := render.Source{
		Controller: name, LeftDelim: spec.Delimiters.Left, RightDelim: spec.Delimiters.Right,
		Helpers: spec.Helpers,
	}
	if spec.Values != nil {
		var err error
		if source.Values, err = render.ReadValues("spec.values", spec.Values.Raw); err != nil {
			return source, rejectf(v1.ReasonInvalidSpec, "%s", err)
		}
	}
	for _, child := range spec.Children {
		source.Children = append(source.Children, render.Template{Name: child.Name, Text: child.Template})
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
