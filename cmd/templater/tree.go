package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/cli/tree"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// treeFlags are the flags of templater tree.
type treeFlags struct {
	cluster cli.Cluster
	paths   []string
	output  string
}

func newTreeCommand() *cobra.Command {
	f := treeFlags{}
	cmd := &cobra.Command{
		Use:   "tree KIND NAME",
		Short: "Show a parent, its children and their dependencies",
		Long: `Show a parent in a cluster, its children grouped by child template, and the related
objects that its templates read. For each child, show whether it is ready and what it
waits for.

It uses your permissions and writes nothing. It renders the templates as templater in the cluster
does. It trusts the labels of children: only templater in the cluster can verify their seals.

With --filename, it does not use a cluster: the TemplateControllers, the parent and all
other objects are read from files.

Exit codes: 0 on success, even if objects are not ready; 2 on error.`,
		Example: `  templater tree app shop -n web
  templater tree apps.example.org shop -o mermaid
  templater tree App one -f config/ -o dot`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("pass the kind and the name of one parent, as in: tree app shop")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1]) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.paths, "filename", "f", nil, "files and directories with all objects, or - for standard input; if empty, objects are read from the cluster")
	cli.AddOutput(flags, &f.output, "text", "json", "dot", "mermaid")
	f.cluster.Add(flags)
	return cmd
}

func (f *treeFlags) run(cmd *cobra.Command, kind, name string) error {
	build := f.fromCluster
	if len(f.paths) > 0 {
		build = func(_ context.Context, kind, name string) (tree.Tree, error) {
			return f.fromFiles(cmd.InOrStdin(), kind, name)
		}
	}
	t, err := build(cmd.Context(), kind, name)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch f.output {
	case "json":
		return tree.JSON(out, t)
	case "dot":
		return tree.DOT(out, t)
	case "mermaid":
		return tree.Mermaid(out, t)
	}
	return tree.Text(out, cli.ColorsFor(out), t)
}

// fromCluster builds the tree from the cluster.
func (f *treeFlags) fromCluster(ctx context.Context, kind, name string) (tree.Tree, error) {
	config, err := f.cluster.Config()
	if err != nil {
		return tree.Tree{}, err
	}
	namespace, err := f.cluster.InNamespace()
	if err != nil {
		return tree.Tree{}, err
	}
	source, _, err := snapshot.NewSource(config)
	if err != nil {
		return tree.Tree{}, err
	}
	where, err := source.Find(kind)
	if err != nil {
		return tree.Tree{}, err
	}
	if where.Scope.Name() != "namespace" {
		namespace = ""
	}
	parent, err := source.Parent(ctx, request.Location{Resource: where.Resource, Namespace: namespace, Name: name})
	if err != nil {
		return tree.Tree{}, err
	}
	all, err := source.Controllers(ctx, namespace)
	if err != nil {
		return tree.Tree{}, err
	}
	b := treeBuilder{parent: parent.Content(), schemas: source.Schemas}
	for _, tc := range all {
		if gvk := schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind); gvk.GroupKind() != where.GroupVersionKind.GroupKind() {
			continue
		}
		checked := lint.Check(tc, nil) // the operator has already checked types and reported the result in the status
		if r := rejection(tc); r != nil {
			checked.Rejection = r
		}
		seen, err := source.Around(ctx, tc, checked.Compiled, parent)
		if err != nil {
			return tree.Tree{}, err
		}
		if seen == nil {
			b.notParent(tc.Key(), "spec.watch does not select it: check its namespace, labels and fields, and spec.watch.filter")
			continue
		}
		b.parent = seen.Parent.Content()
		if err := b.add(tc, checked, seen.Definitions, func(s *simulate.Simulator) simulate.State {
			return s.Holding(simulate.State{Parent: b.parent, Read: seen.Related.Read, Objects: contents(seen.Children), Now: time.Now()}, seen.Parent, seen.Children)
		}, contents(seen.Children)); err != nil {
			return tree.Tree{}, err
		}
	}
	return b.tree()
}

// rejection returns the rejection from the Accepted condition of the current generation, or nil.
func rejection(tc *v1.TemplateController) *spec.Rejection {
	accepted := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionAccepted)
	if accepted == nil || accepted.Status != metav1.ConditionFalse || accepted.ObservedGeneration != tc.Generation {
		return nil
	}
	return &spec.Rejection{Reason: accepted.Reason, Message: accepted.Message}
}

func contents(objects []*object.Object) []map[string]any {
	var out []map[string]any
	for _, o := range objects {
		out = append(out, o.Content())
	}
	return out
}

// fromFiles builds the tree from files.
func (f *treeFlags) fromFiles(stdin io.Reader, kind, name string) (tree.Tree, error) {
	set, err := manifest.LoadControllers(f.paths, stdin)
	if err != nil {
		return tree.Tree{}, fmt.Errorf("--filename: %w", err)
	}
	objects := set.Others()
	i := slices.IndexFunc(objects, func(o *manifest.Object) bool { return f.matches(o.Content, kind, name) })
	if i < 0 {
		return tree.Tree{}, fmt.Errorf("no %s %s in %s", kind, name, strings.Join(f.paths, ", "))
	}
	known, err := lint.Know(set)
	if err != nil {
		return tree.Tree{}, err
	}
	b := treeBuilder{parent: objects[i].Content, namespace: f.cluster.Namespace, schemas: known.Schemas}
	others := manifest.Contents(slices.Delete(objects, i, i+1))
	for _, c := range set.Controllers {
		checked := known.CheckOne(c)
		if err := b.add(c.TemplateController, checked, known.Kinds, func(*simulate.Simulator) simulate.State {
			return simulate.State{Parent: b.parent, Objects: others, Now: time.Now()}
		}, others); err != nil {
			return tree.Tree{}, err
		}
	}
	return b.tree()
}

// matches reports whether the arguments KIND and NAME match an object.
func (f *treeFlags) matches(content map[string]any, kindArg, name string) bool {
	gvk := child.GVKOf(content)
	word, group, qualified := strings.Cut(kindArg, ".")
	if qualified && group != gvk.Group && group != gvk.Version+"."+gvk.Group {
		return false
	}
	metadata, _ := content["metadata"].(map[string]any)
	return (strings.EqualFold(gvk.Kind, word) || strings.EqualFold(kind.Plural(gvk.Kind), word)) && metadata["name"] == name &&
		(f.cluster.Namespace == "" || metadata["namespace"] == nil || metadata["namespace"] == f.cluster.Namespace)
}
