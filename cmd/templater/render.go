package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/templater-dev/templater/api/v1"
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
parents in files. PATH is a file, a directory, or - for standard input; the parents
are the objects of the watched kinds in PATH, or in --parents if it is set.
CustomResourceDefinitions in PATH define the scope of kinds and the schema of the
status.

It reconciles as the operator does, until nothing changes. A child that waits for
other children is marked with a comment. A child is omitted if its template reads
the children that it waits for. --ready treats all children as ready. With --deleted,
the parents are deleted afterwards, and the objects of spec.finalize are shown.
Objects that an API server would refuse are errors. RBAC, API server defaulting and
admission are not simulated.

Template errors are reported on standard error. Exit codes: 0 on success, 1 if a spec
is rejected or a reconciliation reports errors, 2 on any other error.`,
		Example: `  templater render app.yaml --parents parent.yaml
  templater render config/ --ready --explain
  templater render config/ --deleted
  templater render config/ --observed observed.yaml --related related.yaml -o json
  kubectl kustomize config/ | templater render - --parents parent.yaml`,
	}
	readPaths(cmd, f.run)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.parents, "parents", nil, "files and directories with parents; defaults to the parents in PATH")
	flags.StringSliceVar(&f.observed, "observed", nil, "files and directories with existing children: objects with templater's labels, or with the kind and name of a child")
	flags.StringSliceVar(&f.related, "related", nil, "files and directories with other objects, for spec.related")
	flags.StringVar(&f.controller, "controller", "", "name of the TemplateController to render; empty = all")
	cli.AddNamespace(flags, &f.namespace, "namespace", "n", "namespace for parents and NamespacedTemplateControllers without metadata.namespace; defaults to \"default\"")
	flags.BoolVar(&f.ready, "ready", false, "treat all children as ready")
	flags.BoolVar(&f.deleted, "deleted", false, "delete the parents at the end, and show the objects of spec.finalize")
	flags.BoolVar(&f.explain, "explain", false, "add comments that show which template line set each field; only with -o yaml")
	cli.AddOutput(flags, &f.output, "yaml", "json")
	watchPaths(cmd, &f.parents, &f.observed, &f.related)
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
	if f.namespace != "" {
		set.DefaultNamespace(f.namespace)
	}
	if f.controller != "" {
		one := set.Named(f.controller)
		if one == nil {
			return fmt.Errorf("--controller: no %s in %s", v1.Describe(f.controller), strings.Join(paths, ", "))
		}
		set.Controllers = []*manifest.Controller{one}
	}
	parents := set
	if len(f.parents) > 0 {
		if parents, err = loadFlag(cmd, "parents", f.parents); err != nil {
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

// renderer renders the parents sequentially.
type renderer struct {
	*renderFlags
	errors  io.Writer
	known   *lint.Known
	state   simulate.State
	results []show.Result
	none    error // why the first object of a watched kind is not a parent
	faulty  bool
}

// render renders the parents of one TemplateController.
func (r *renderer) render(c *manifest.Controller, parents []*manifest.Object) error {
	checked := r.known.CheckOne(c)
	if checked.Invalid() != nil {
		r.faulty = true
		return r.reject(c, finding.Of(finding.Error, checked.Findings))
	}
	s, rejection := simulate.New(c.TemplateController, checked.Compiled, r.known.Kinds, r.known.Schemas)
	if rejection != nil {
		r.faulty = true
		return r.reject(c, rejection.Findings)
	}
	s.Explain, s.InNamespace, s.Validates = r.explain, r.namespace, true
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
		if _, refused := errors.AsType[*simulate.RefusedError](err); refused {
			r.faulty = true
			fmt.Fprintln(r.errors, &manifest.Error{File: parent.File, Line: parent.Line, Message: err.Error()})
			continue
		}
		if errors.Is(err, simulate.ErrNotConverging) {
			result.Errors = append(result.Errors, err.Error())
		} else if err != nil {
			return &manifest.Error{File: parent.File, Line: parent.Line, Message: err.Error()}
		}
		for _, fault := range result.Errors {
			r.faulty = true
			fmt.Fprintln(r.errors, c.Located(fault))
		}
		r.results = append(r.results, show.Of(c.TemplateController.Key(), out.Parent, result))
	}
	return nil
}

// settle reconciles one parent until nothing changes, and applies --ready and --deleted. others are all objects of the same kind, for spec.related.
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

// noParent returns the error if there are no parents.
func (r *renderer) noParent(paths []string) error {
	if r.none != nil {
		return r.none
	}
	return fmt.Errorf("no parents in %s: no object has a watched kind; pass parents with --parents", strings.Join(paths, ", "))
}

// reject prints why the operator would reject a TemplateController.
func (r *renderer) reject(c *manifest.Controller, all []finding.Finding) error {
	for _, l := range report.Locate(c.TemplateController.Key(), c, all) {
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
