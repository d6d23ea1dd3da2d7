// Package rollout shows and changes rollouts of TemplateControllers: templater rollout.
package rollout

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Client reads and writes objects. It is implemented by *kube.Objects.
type Client interface {
	Get(ctx context.Context, at request.Location) (*unstructured.Unstructured, error)
	List(ctx context.Context, resource schema.GroupVersionResource, labels string) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, at request.Location, version string) (watch.Interface, error)
	Merge(ctx context.Context, at request.Location, patch map[string]any, manager string) error
	Update(ctx context.Context, at request.Location, content *unstructured.Unstructured, u request.Update) error
}

// Rollout is the rollout of a TemplateController or NamespacedTemplateController. It is not safe for concurrent use.
type Rollout struct {
	Client Client
	// Key identifies the TemplateController: see v1.Key.
	Key string
	// Command is the command in hints, such as "templater rollout".
	Command string
	// Out is for results, and Err for warnings.
	Out, Err io.Writer
	// Now is for ages.
	Now func() time.Time
	// Pause is the pause before a watch that has ended is started again.
	Pause time.Duration
}

// FailedError means that a rollout has failed, or that it does not permit a change now. Other errors mean that this is unknown.
type FailedError struct{ message string }

// Error returns the message.
func (f *FailedError) Error() string { return f.message }

func failure(format string, args ...any) error { return &FailedError{fmt.Sprintf(format, args...)} }

// live is a TemplateController in the cluster.
type live struct {
	*v1.TemplateController

	raw *unstructured.Unstructured
}

func liveOf(raw *unstructured.Unstructured) (*live, error) {
	tc := &v1.TemplateController{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, tc); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", v1.Describe(v1.Key(raw.GetNamespace(), raw.GetName())), err)
	}
	return &live{tc, raw}, nil
}

// at is the TemplateController in the API.
func (r *Rollout) at() request.Location {
	namespace, name := v1.SplitKey(r.Key)
	return request.Location{Resource: v1.ResourceOf(r.Key), Namespace: namespace, Name: name}
}

// get reads the TemplateController.
func (r *Rollout) get(ctx context.Context) (*live, error) {
	raw, err := r.Client.Get(ctx, r.at())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", v1.Describe(r.Key), err)
	}
	return liveOf(raw)
}

// title is the TemplateController in sentences.
func (r *Rollout) title() string {
	return fmt.Sprintf("%s %q", strings.ToLower(v1.KindOf(r.Key)), r.at().Name)
}

// reference is the TemplateController in results.
func (r *Rollout) reference() string {
	return strings.ToLower(v1.KindOf(r.Key)) + "." + v1.GroupVersion.Group + "/" + r.at().Name
}

// done prints the result of a change.
func (r *Rollout) done(format string, args ...any) {
	fmt.Fprintf(r.Out, "%s %s\n", r.reference(), fmt.Sprintf(format, args...))
}

// hint is a command that the user may run next.
func (r *Rollout) hint(subcommand string) string {
	namespace, name := v1.SplitKey(r.Key)
	out := r.Command + " " + subcommand + " " + name
	if namespace != "" {
		out += " -n " + namespace
	}
	return out
}

// mostAttempts is how often change tries a write. Templater writes the status at most every 2 seconds.
const mostAttempts = 5

// change calls write, which fails if the object changes meanwhile. It tries again if only the status has changed.
func (r *Rollout) change(ctx context.Context, write func(*live) error) error {
	var generation int64
	for attempt := 1; ; attempt++ {
		now, err := r.get(ctx)
		switch {
		case err != nil:
			return err
		case attempt == 1:
			generation = now.Generation
		case now.Generation != generation:
			return failure("the spec of %s has changed in the meantime: check it, and try again", r.title())
		}
		if err = write(now); !apierrors.IsConflict(err) || attempt == mostAttempts {
			return err
		}
	}
}

// written wraps the error of a write.
func (r *Rollout) written(err error) error {
	if err != nil {
		return fmt.Errorf("change %s: %w", v1.Describe(r.Key), err)
	}
	return nil
}

// gitOps are the GitOps tools by their field managers, labels and annotations.
var gitOps = map[string]string{
	"argocd-controller": "Argo CD", "argocd-application-controller": "Argo CD", "argocd.argoproj.io/instance": "Argo CD", "argocd.argoproj.io/tracking-id": "Argo CD",
	"kustomize-controller": "Flux", "helm-controller": "Flux", "kustomize.toolkit.fluxcd.io/name": "Flux", "helm.toolkit.fluxcd.io/name": "Flux",
}

// warn warns that a GitOps tool may revert a change, and names the alternative.
func (r *Rollout) warn(now *live, instead string) {
	var signs []string
	for _, entry := range now.ManagedFields {
		signs = append(signs, entry.Manager)
	}
	signs = slices.AppendSeq(signs, maps.Keys(now.Labels))
	signs = slices.AppendSeq(signs, maps.Keys(now.Annotations))
	if i := slices.IndexFunc(signs, func(sign string) bool { return gitOps[sign] != "" }); i >= 0 {
		fmt.Fprintf(r.Err, "Warning: %s applies %s and may revert this change: %s\n", gitOps[signs[i]], r.title(), instead)
	}
}
