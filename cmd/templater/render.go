package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/simulate/show"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/render/finding"
)

// renderFlags are the flags of templater render.
type renderFlags struct {
	parents, observed, related []string
	controller, namespace      string
	ready, deleted, explain    bool
	output                     string
}

func newRenderCommand() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render PATH...",
		Short: "Render templates without a cluster",
		Long: `Show the children and the status that TemplateControllers in files render for
parents in files. PATH is a file, a folder, or - for standard input; the parents
are the objects of the watched kinds there, or those of --filename.
CustomResourceDefinitions there define which kinds are namespaced, and the schema
of the status.

It reconciles as the operator does until nothing is left to do. A child that waits
for others shows that in a comment, and is omitted if its template needs the others;
--ready treats all children as ready. With --deleted, the parents are deleted
afterwards, and the objects of spec.finalize are shown. Permissions, defaults and
admission plugins of an API server are ignored.

Template errors are reported on standard error. It exits with 0 on success, with 1
if something is wrong, and with 2 on an error.`,
		Example: `  templater render app.yaml -f parent.yaml
  templater render config/ --ready --explain
  templater render config/ --deleted
  templater render config/ --observed observed.yaml --related related.yaml -o json
  kubectl kustomize config/ | templater render - -f parent.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("pass files or folders with TemplateControllers, or - for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.parents, "filename", "f", nil, "files and folders with parents; empty = those in PATH")
	flags.StringSliceVar(&f.observed, "observed", nil, "files and folders with live children: objects with the labels of templater, or with kind and name of a child")
	flags.StringSliceVar(&f.related, "related", nil, "files and folders with other objects, for spec.related")
	flags.StringVar(&f.controller, "controller", "", "name of the TemplateController to render; empty = all")
	cli.AddNamespace(flags, &f.namespace, "namespace", "n", "namespace of parents without one; empty = default")
	flags.BoolVar(&f.ready, "ready", false, "treat all children as ready")
	flags.BoolVar(&f.deleted, "deleted", false, "delete the parents at the end, and show the objects of spec.finalize")
	flags.BoolVar(&f.explain, "explain", false, "show in comments which template line each field is from; only with -o yaml")
	cli.AddOutput(flags, &f.output, "yaml", "json")
	return cmd
}

func (f *renderFlags) run(cmd *cobra.Command, paths []string) error {
	if f.explain && f.output != "yaml" {
		return errors.New("--explain requires -o yaml")
	}
	set, err := manifest.LoadControllers(paths, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if f.controller != "" {
		one := set.Named(f.controller)
		if one == nil {
			return fmt.Errorf("--controller: no TemplateController %s in %s", f.controller, strings.Join(paths, ", "))
		}
		set.Controllers = []*manifest.Controller{one}
	}
	parents := set
	if len(f.parents) > 0 {
		if parents, err = loadFlag(cmd, "filename", f.parents); err != nil {
			return err
		}
	}
	observed, err := loadFlag(cmd, "observed", f.observed)
	if err != nil {
		return err
	}
	related, err := loadFlag(cmd, "related", f.related)
	if err != nil {
		return err
	}
	known, err := lint.Know(set)
	if err != nil {
		return err
	}
	r := renderer{renderFlags: f, errors: cmd.ErrOrStderr(), known: known, state: simulate.State{Objects: observed.Contents(), Related: related.Contents(), Now: time.Now()}}
	for _, c := range set.Controllers {
		if err := r.render(c, parents.Others()); err != nil {
			return err
		}
	}
	if len(r.results) == 0 && !r.faulty {
		return r.noParent(append(paths, f.parents...))
	}
	if err := r.write(cmd.OutOrStdout()); err != nil {
		return err
	}
	if r.faulty {
		return cli.Findings
	}
	return nil
}

// renderer renders for one parent after the other.
type renderer struct {
	*renderFlags
	errors  io.Writer
	known   *lint.Known
	state   simulate.State
	results []show.Result
	none    error // says of the first object of a watched kind that is no parent why it is none
	faulty  bool
}

// render renders for the parents of one TemplateController.
func (r *renderer) render(c *manifest.Controller, parents []*manifest.Object) error {
	checked := lint.Check(c.TemplateController, r.known.Schemas)
	if checked.Rejection != nil {
		r.faulty = true
		return r.reject(c, finding.Of(finding.Error, checked.Findings))
	}
	s, rejection := simulate.New(c.TemplateController, checked.Compiled, r.known.Kinds, r.known.Schemas)
	if rejection != nil {
		r.faulty = true
		return r.reject(c, rejection.Findings)
	}
	s.Explain, s.InNamespace = r.explain, r.namespace
	var candidates []map[string]any
	for _, parent := range parents {
		if s.OfKind(parent.Content) {
			candidates = append(candidates, s.Placed(simulate.State{Parent: parent.Content, Now: r.state.Now}).Parent)
		}
	}
	for _, parent := range parents {
		if !s.OfKind(parent.Content) {
			continue
		}
		result, out, err := r.settle(s, parent.Content, candidates)
		if s.Matches(parent.Content) != "" {
			if r.none == nil {
				r.none = &manifest.Error{File: parent.File, Line: parent.Line, Message: err.Error()}
			}
			continue
		}
		if errors.Is(err, simulate.ErrRestless) {
			result.Faults = append(result.Faults, err.Error())
		} else if err != nil {
			return &manifest.Error{File: parent.File, Line: parent.Line, Message: err.Error()}
		}
		for _, fault := range result.Faults {
			r.faulty = true
			fmt.Fprintln(r.errors, c.Located(fault))
		}
		r.results = append(r.results, show.Of(c.TemplateController.Name, out.Parent, result))
	}
	return nil
}

// settle makes passes over one parent, as the flags say. others are all objects of its kind, which spec.related may be about.
func (r *renderer) settle(s *simulate.Simulator, parent map[string]any, others []map[string]any) (simulate.Result, simulate.State, error) {
	in := r.state
	in.Parent, in.Related = parent, slices.Concat(in.Related, others)
	result, out, err := s.Settle(in)
	if r.ready && err == nil {
		result, out, err = s.SettleReady(out, func(string) bool { return true })
	}
	if r.deleted && err == nil {
		result, out, err = s.Settle(out.Deleted())
	}
	return result, out, err
}

// noParent says why nothing is rendered.
func (r *renderer) noParent(paths []string) error {
	if r.none != nil {
		return r.none
	}
	return fmt.Errorf("no parent in %s: no object is of a watched kind: pass parents with -f", strings.Join(paths, ", "))
}

// reject tells why the operator would not accept a TemplateController.
func (r *renderer) reject(c *manifest.Controller, all []finding.Finding) error {
	for _, l := range report.Locate(c.TemplateController.Name, c, all) {
		fmt.Fprintln(r.errors, c.Located(l.Finding.String()))
	}
	return nil
}

func (r *renderer) write(out io.Writer) error {
	if r.output == "json" {
		return show.JSON(out, r.results)
	}
	return show.YAML(out, r.results, r.explain)
}
