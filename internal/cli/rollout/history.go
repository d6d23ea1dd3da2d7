package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/revision"
)

// stored is a TemplateRevision.
type stored struct {
	number  int64
	id      string
	created time.Time
	spec    *v1.TemplateControllerSpec
}

// revisions returns the revisions of the TemplateController, the newest last.
func (r *Rollout) revisions(ctx context.Context, now *live) ([]stored, error) {
	list, err := r.Client.List(ctx, v1.RevisionResource, labels.Set{v1.LabelControllerUID: string(now.UID)}.String())
	if err != nil {
		return nil, fmt.Errorf("list TemplateRevisions, which may contain secrets in spec.values: %w", err)
	}
	var out []stored
	for i := range list.Items {
		tr := &v1.TemplateRevision{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, tr); err != nil {
			return nil, fmt.Errorf("TemplateRevision %s: %w", list.Items[i].GetName(), err)
		}
		if tr.Controller.UID != now.UID {
			continue
		}
		spec, id, err := revision.Decode(tr.Data)
		if err != nil {
			return nil, fmt.Errorf("TemplateRevision %s: %w", tr.Name, err)
		}
		out = append(out, stored{tr.Revision, id, tr.CreationTimestamp.Time, spec})
	}
	slices.SortFunc(out, func(a, b stored) int { return cmp.Compare(a.number, b.number) })
	return out, nil
}

// numbered returns the revision with a number.
func (r *Rollout) numbered(all []stored, number int64) (*stored, error) {
	i := slices.IndexFunc(all, func(s stored) bool { return s.number == number })
	if i < 0 {
		return nil, failure("unable to find specified revision %d in history: see %s", number, r.hint("history"))
	}
	return &all[i], nil
}

// History prints a table of all revisions or, with a number other than 0, that revision as YAML.
func (r *Rollout) History(ctx context.Context, number int64) error {
	now, err := r.get(ctx)
	if err != nil {
		return err
	}
	all, err := r.revisions(ctx, now)
	switch {
	case err != nil:
		return err
	case number != 0:
		return r.print(all, number)
	case len(all) == 0:
		fmt.Fprintf(r.Out, "%s: no rollout history found\n", r.reference())
		return nil
	}
	fmt.Fprintln(r.Out, r.reference())
	table := tabwriter.NewWriter(r.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "REVISION\tID\tAGE\tSTATUS")
	states := map[string]string{now.Status.UpdateRevision: "update"}
	states[now.Status.CurrentRevision] = "current"
	for _, s := range all {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", s.number, s.id, duration.HumanDuration(r.Now().Sub(s.created)), cmp.Or(states[s.id], "-"))
	}
	return table.Flush()
}

// print prints a revision as YAML.
func (r *Rollout) print(all []stored, number int64) error {
	s, err := r.numbered(all, number)
	if err != nil {
		return err
	}
	content, err := contentOf(s.spec)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(map[string]any{"spec": content})
	if err == nil {
		_, err = fmt.Fprintf(r.Out, "# %s with revision #%d, ID %s\n%s", r.reference(), s.number, s.id, text)
	}
	return err
}

// contentOf returns a revision as JSON data. Its related objects have only a name and a select template.
func contentOf(spec *v1.TemplateControllerSpec) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	delete(out, "watch")
	for _, related := range items(out["related"]) {
		delete(related, "apiVersion")
		delete(related, "kind")
	}
	return out, err
}

// items returns the mappings in a list.
func items(list any) []map[string]any {
	var out []map[string]any
	all, _ := list.([]any)
	for _, each := range all {
		if item, ok := each.(map[string]any); ok {
			out = append(out, item)
		}
	}
	return out
}
