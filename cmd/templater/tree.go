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
		Long: `Show a parent of a cluster with its children by child template, the related objects
that its templates read, whether each of them is ready, and which wait for others.

It uses your permissions and writes nothing. It renders the templates as the operator
does. It trusts the labels of children: only the operator can verify their seals.

With --filename, it does not use a cluster: the TemplateControllers, the parent and all
other objects are read from files.

It exits with 0, even if something is not ready, and with 2 on an error.`,
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
	flags.StringSliceVarP(&f.paths, "filename", "f", nil, "files and folders with all objects, or - for standard input; empty = read the cluster")
	cli.AddOutput(flags, &f.output, "text", "json", "dot", "mermaid")
	f.cluster.Add(flags)
	return cmd
}

func (f *treeFlags) run(cmd *cobra.Command, kind, name string) error {
	grow := f.ofCluster
	if len(f.paths) > 0 {
		grow = func(_ context.Context, kind, name string) (tree.Tree, error) {
			return f.ofFiles(cmd.InOrStdin(), kind, name)
		}
	}
	t, err := grow(cmd.Context(), kind, name)
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
	return tree.Text(out, cli.ColoursFor(out), t)
}

// ofCluster reads the parent and all that belongs to it from the cluster.
func (f *treeFlags) ofCluster(ctx context.Context, kind, name string) (tree.Tree, error) {
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
	all, err := source.Controllers(ctx)
	if err != nil {
		return tree.Tree{}, err
	}
	g := grower{parent: parent.Content(), schemas: source.Schemas}
	for _, tc := range all {
		if gvk := schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind); gvk.GroupKind() != where.GroupVersionKind.GroupKind() {
			continue
		}
		checked := lint.Check(tc, nil) // the operator has looked at types, and says in the status what has come of it
		if r := refused(tc); r != nil {
			checked.Rejection = r
		}
		seen, err := source.Around(ctx, tc, checked.Compiled, parent)
		if err != nil {
			return tree.Tree{}, err
		}
		if seen == nil {
			g.leaveOut(tc.Name, "spec.watch does not select it: compare its namespace, labels and fields, and the filter")
			continue
		}
		if err := g.add(tc, checked, seen.Definitions, func(s *simulate.Simulator) simulate.State {
			return s.Holding(simulate.State{Parent: g.parent, Read: seen.Related.Read, Objects: contents(seen.Children), Now: time.Now()}, parent, seen.Children)
		}, contents(seen.Children)); err != nil {
			return tree.Tree{}, err
		}
	}
	return g.tree()
}

// refused returns what the operator holds against a TemplateController as it is now, or nil.
func refused(tc *v1.TemplateController) *spec.Rejection {
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

// ofFiles takes files for the cluster.
func (f *treeFlags) ofFiles(stdin io.Reader, kind, name string) (tree.Tree, error) {
	set, err := manifest.LoadControllers(f.paths, stdin)
	if err != nil {
		return tree.Tree{}, fmt.Errorf("--filename: %w", err)
	}
	objects := set.Others()
	i := slices.IndexFunc(objects, func(o *manifest.Object) bool { return f.means(o.Content, kind, name) })
	if i < 0 {
		return tree.Tree{}, fmt.Errorf("no %s %s in %s", kind, name, strings.Join(f.paths, ", "))
	}
	known, err := lint.Know(set)
	if err != nil {
		return tree.Tree{}, err
	}
	g := grower{parent: objects[i].Content, namespace: f.cluster.Namespace, schemas: known.Schemas}
	others := manifest.Contents(slices.Delete(objects, i, i+1))
	for _, c := range set.Controllers {
		checked := lint.Check(c.TemplateController, known.Schemas)
		if err := g.add(c.TemplateController, checked, known.Kinds, func(*simulate.Simulator) simulate.State {
			return simulate.State{Parent: g.parent, Objects: others, Now: time.Now()}
		}, others); err != nil {
			return tree.Tree{}, err
		}
	}
	return g.tree()
}

// means reports whether the words of the command line name an object.
func (f *treeFlags) means(content map[string]any, named, name string) bool {
	is := child.GVKOf(content)
	word, of, qualified := strings.Cut(named, ".")
	if qualified && of != is.Group && of != is.Version+"."+is.Group {
		return false
	}
	metadata, _ := content["metadata"].(map[string]any)
	return (strings.EqualFold(is.Kind, word) || strings.EqualFold(kind.Plural(is.Kind), word)) && metadata["name"] == name &&
		(f.cluster.Namespace == "" || metadata["namespace"] == nil || metadata["namespace"] == f.cluster.Namespace)
}
