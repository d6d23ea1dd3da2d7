package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/rollout"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/object"
)

func newRolloutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Show, pause, approve and undo rollouts of TemplateControllers",
		Long: `Manage the rollout of a TemplateController, as kubectl rollout does for a Deployment.
A revision is the part of the spec that is evaluated for each parent: children, finalize,
status, values, helpers, delimiters and the select templates of related. spec.rollout
defines how a new revision reaches the parents.

NAME is the name of a TemplateController or, with --namespace, of a
NamespacedTemplateController.

Exit codes: 0 on success; 1 if the rollout has failed, or does not permit the change; 2 on error.`,
		Example: `  templater rollout status apps --timeout 10m
  templater rollout undo apps`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newRolloutStatusCommand(), newRolloutHistoryCommand(), newRolloutPauseCommand(), newRolloutResumeCommand(), newRolloutUndoCommand(), newRolloutApproveCommand(),
	)
	return cmd
}

// restartPause is the pause before a watch that has ended is started again.
const restartPause = time.Second

// rolloutCommand completes a command about one TemplateController: its argument, the flags for the cluster, and run.
func rolloutCommand(cmd *cobra.Command, run func(context.Context, *rollout.Rollout) error) *cobra.Command {
	var cluster cli.Cluster
	cluster.AddServer(cmd.Flags())
	cli.AddNamespace(cmd.Flags(), &cluster.Namespace, "namespace", "n", "namespace of a NamespacedTemplateController; if empty, NAME is a TemplateController")
	example := cmd.Name() + " apps"
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("pass the name of one TemplateController, as in: rollout %s", example)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		config, err := cluster.Config()
		if err != nil {
			return err
		}
		config.WarningHandler = rest.NewWarningWriter(cmd.ErrOrStderr(), rest.WarningWriterOptions{Deduplicate: true})
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		return failedRollout(cmd, run(cmd.Context(), &rollout.Rollout{
			Client: kube.NewObjects(client), Key: v1.Key(cluster.Namespace, args[0]), Command: cmd.Parent().CommandPath(),
			Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Now: time.Now, Pause: restartPause,
		}))
	}
	return cmd
}

// longestFailure is the maximum size of a printed failure, in bytes.
const longestFailure = 4 << 10

// failedRollout prints a failure of a rollout, for which the exit code is that of findings. It returns other errors.
func failedRollout(cmd *cobra.Command, err error) error {
	failure, ok := errors.AsType[*rollout.FailedError](err)
	if !ok {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Error: %s\n", object.Line(failure.Error(), longestFailure))
	return cli.Findings
}

func newRolloutStatusCommand() *cobra.Command {
	o, number := rollout.StatusOptions{}, 0
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Wait for a rollout, and show its progress",
		Long: `Show the progress of the rollout of the newest spec, until all parents have it. A rollout
that is paused or needs approval is waited for.

Exit codes: 0 if it is rolled out or, with --watch=false, in progress; 1 if it is halted, the
spec is rejected or refused by preflight, or on timeout; 2 on error.`,
		Example: `  templater rollout status apps
  templater rollout status apps --timeout 10m
  templater rollout status apps -n team-a --watch=false`,
	}
	rolloutCommand(cmd, func(ctx context.Context, r *rollout.Rollout) error {
		o.Revision = int64(number)
		return r.Status(ctx, o)
	})
	cmd.Flags().BoolVarP(&o.Watch, "watch", "w", true, "wait until the rollout ends")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "how long to wait; 0 = no limit")
	cli.AddNumber(cmd.Flags(), &number, "revision", 0, math.MaxInt, "fail if the newest revision is another one; 0 = any")
	return cmd
}

func newRolloutHistoryCommand() *cobra.Command {
	number := 0
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "Show the revisions of a TemplateController",
		Long: `List the stored revisions: number, ID, age, and which of them parents have (current) and
get (update). With --revision, print one revision as YAML. It can contain secrets in
spec.values, so the view role does not permit it.`,
		Example: `  templater rollout history apps
  templater rollout history apps --revision 3`,
	}
	rolloutCommand(cmd, func(ctx context.Context, r *rollout.Rollout) error { return r.History(ctx, int64(number)) })
	cli.AddNumber(cmd.Flags(), &number, "revision", 0, math.MaxInt, "print this revision; 0 = list all")
	return cmd
}

func newRolloutPauseCommand() *cobra.Command {
	return rolloutCommand(&cobra.Command{
		Use:   "pause NAME",
		Short: "Pause a rollout",
		Long: `Set spec.rollout.paused: no further step of a rollout starts. Parents that have the new
revision keep it, and all parents are still reconciled.`,
		Example: "  templater rollout pause apps",
	}, func(ctx context.Context, r *rollout.Rollout) error { return r.SetPaused(ctx, true) })
}

func newRolloutResumeCommand() *cobra.Command {
	return rolloutCommand(&cobra.Command{
		Use:     "resume NAME",
		Short:   "Resume a paused rollout",
		Long:    "Remove spec.rollout.paused: the rollout continues with the next step.",
		Example: "  templater rollout resume apps",
	}, func(ctx context.Context, r *rollout.Rollout) error { return r.SetPaused(ctx, false) })
}

func newRolloutUndoCommand() *cobra.Command {
	number, dryRun := 0, false
	cmd := &cobra.Command{
		Use:   "undo NAME",
		Short: "Restore an earlier revision",
		Long: `Write an earlier revision into the spec. It replaces children, finalize, status, values,
helpers, delimiters and the select templates of related, and no other field. It is rolled
out like any other change. If a GitOps tool applies the TemplateController, use git revert
instead.`,
		Example: `  templater rollout undo apps
  templater rollout undo apps --to-revision 3 --dry-run`,
	}
	rolloutCommand(cmd, func(ctx context.Context, r *rollout.Rollout) error { return r.Undo(ctx, int64(number), dryRun) })
	cli.AddNumber(cmd.Flags(), &number, "to-revision", 0, math.MaxInt, "revision to restore; 0 = the newest one that differs from the spec")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "validate the change on the server, and change nothing")
	return cmd
}

// revisionID is a flag for the ID of a revision.
type revisionID string

// String returns the ID.
func (id *revisionID) String() string { return string(*id) }

// Set accepts an ID or "".
func (id *revisionID) Set(text string) error {
	if bytes, err := hex.DecodeString(text); err != nil || len(bytes) != 8 && text != "" {
		return errors.New("use the 16 hexadecimal digits that templater diff prints")
	}
	*id = revisionID(text)
	return nil
}

// Type is the name of the type in the help.
func (id *revisionID) Type() string { return "string" }

func newRolloutApproveCommand() *cobra.Command {
	var id revisionID
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Approve a revision",
		Long: `Show what the newest revision would change, and set spec.rollout.approvedRevision to it.
Only for spec.rollout.approval: Required.`,
		Example: `  templater rollout approve apps
  templater rollout approve apps --revision 0123456789abcdef`,
	}
	rolloutCommand(cmd, func(ctx context.Context, r *rollout.Rollout) error { return r.Approve(ctx, string(id)) })
	cmd.Flags().Var(&id, "revision", "ID of the revision, as printed by templater diff; if the newest revision is another one, nothing is approved")
	return cmd
}
