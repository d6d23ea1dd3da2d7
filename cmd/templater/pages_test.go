package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the pages of the commands, as make generate does")

// pages is the directory with a page for each command. The part of a page after byHand is not generated.
const (
	pages  = "../../docs/reference/commands"
	byHand = "<!-- The rest of this page is not generated. -->"
)

// TestCommandPagesAreCurrent compares the pages with the commands, and checks that there are no other pages.
func TestCommandPagesAreCurrent(t *testing.T) {
	root := newCommand("templater")
	want := map[string]string{"README.md": indexOf(root)}
	for _, cmd := range commandsOf(root) {
		want[pageOf(cmd)] = commandPage(cmd)
	}
	for name, made := range want {
		file := filepath.Join(pages, name)
		now, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if _, rest, found := strings.Cut(string(now), byHand); found {
			made += byHand + rest
		}
		if *update {
			if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(string(now), made); diff != "" {
			t.Errorf("%s: run make generate (-page +command):\n%s", name, diff)
		}
	}
	there, err := os.ReadDir(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if want[file.Name()] == "" {
			t.Errorf("%s: no such command", file.Name())
		}
	}
}

// commandsOf returns the documented commands, sorted by name.
func commandsOf(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, cmd := range root.Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		if cmd.Runnable() || cmd.Name() == "completion" {
			all = append(all, cmd)
		}
	}
	return all
}

func pageOf(cmd *cobra.Command) string { return cmd.Name() + ".md" }

// indexOf returns the page with the list of all commands.
func indexOf(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Commands\n\nFor authors and administrators: the commands of templater, with their flags.\n\n%s\n\n| Command | What it does |\n|---|---|\n", text(root.Long))
	for _, cmd := range commandsOf(root) {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", cmd.CommandPath(), pageOf(cmd), cmd.Short)
	}
	return b.String() + "\n"
}

func commandPage(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nFor %s: %s.\n\n", cmd.CommandPath(), readersOf(cmd), strings.ToLower(cmd.Short[:1])+cmd.Short[1:])
	usageOf(&b, cmd, "## Examples\n\n", "## Flags\n\n")
	for _, sub := range subcommandsOf(cmd) {
		fmt.Fprintf(&b, "## %s\n\n%s.\n\n", sub.CommandPath(), sub.Short)
		usageOf(&b, sub, "", "")
	}
	return b.String()
}

// subcommandsOf returns the documented subcommands. Those of completion are not documented, because they are not ours.
func subcommandsOf(cmd *cobra.Command) []*cobra.Command {
	if cmd.Name() == "completion" {
		return nil
	}
	return commandsOf(cmd)
}

// usageOf writes the help of a command, with these headings.
func usageOf(b *strings.Builder, cmd *cobra.Command, examples, flags string) {
	fmt.Fprintf(b, "%s\n\n```sh\n%s\n```\n\n", text(cmd.Long), cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(b, "%s```sh\n%s\n```\n\n", examples, unindent(cmd.Example))
	}
	if !cmd.HasAvailableLocalFlags() {
		return
	}
	fmt.Fprint(b, flags+"| Flag | Default | Description |\n|---|---|---|\n")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			fmt.Fprintf(b, "| %s | %s | %s |\n", nameOf(f), defaultOf(f), strings.ReplaceAll(f.Usage, "|", "\\|"))
		}
	})
	fmt.Fprintln(b)
}

// readersOf returns the audience of a command.
func readersOf(cmd *cobra.Command) string {
	switch cmd.Name() {
	case "run":
		return "administrators"
	case "completion", "version":
		return "authors and administrators"
	default:
		return "authors"
	}
}

func nameOf(f *pflag.Flag) string {
	name := "`--" + f.Name + "`"
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	return name
}

func defaultOf(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "[]" {
		return ""
	}
	return "`" + f.DefValue + "`"
}

// text converts help text to Markdown: indented lines become code blocks, and HTML is escaped.
func text(long string) string {
	var b strings.Builder
	code, empty := false, "" // empty lines that are not written yet
	for line := range strings.Lines(strings.TrimSpace(long)) {
		if strings.TrimSpace(line) == "" {
			empty += line
			continue
		}
		if indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t"); indented != code {
			if indented { // empty lines before and after the code are not part of it
				b.WriteString(empty + "```\n")
			} else {
				b.WriteString("```\n" + empty)
			}
			code, empty = indented, ""
		}
		b.WriteString(empty)
		empty = ""
		if !code {
			line = strings.NewReplacer("<", "&lt;", "*", "\\*").Replace(line)
		}
		b.WriteString(line)
	}
	if code {
		b.WriteString("\n```")
	}
	return b.String()
}

func unindent(example string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimRight(example, "\n")) {
		lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
	}
	return strings.Join(lines, "\n")
}

// TestCommandExamplesRun runs the examples of the commands in testdata/examples. For commands that need a cluster or do not return, it only
// validates the arguments.
func TestCommandExamplesRun(t *testing.T) {
	whole, err := os.ReadFile("testdata/examples/app.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := commandsOf(newCommand("templater"))
	for _, cmd := range all {
		all = append(all, subcommandsOf(cmd)...)
	}
	for _, cmd := range all {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			example := strings.TrimSpace(line)
			_, args, found := strings.Cut(example, "templater ")
			if example == "" || strings.HasPrefix(example, "#") || !found {
				continue
			}
			t.Run(example, func(t *testing.T) {
				folder := t.TempDir()
				if err := os.CopyFS(folder, os.DirFS("testdata/examples")); err != nil {
					t.Fatal(err)
				}
				t.Chdir(folder)
				args, _, _ = strings.Cut(args, " > ")
				tryExample(t, strings.Fields(args), whole)
			})
		}
	}
}

func tryExample(t *testing.T, args []string, stdin []byte) {
	t.Helper()
	root := newCommand("templater")
	cmd, rest, err := root.Find(args)
	if err != nil {
		t.Fatal(err)
	}
	offline := cmd.Flags().Lookup("kubeconfig") == nil || cmd.Flags().Lookup("cluster") != nil && !slices.Contains(args, "--cluster")
	if !offline || cmd.Name() == "playground" || cmd.Parent().Name() == "completion" { // needs a cluster, does not return, or writes to the terminal
		if err := cmd.ParseFlags(rest); err != nil {
			t.Error(err)
		} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Error(err)
		}
		return
	}
	var stdout, stderr bytes.Buffer
	root.SetArgs(args)
	root.SetIn(bytes.NewReader(stdin))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	if err := root.ExecuteContext(t.Context()); err != nil || stdout.Len() == 0 {
		t.Errorf("error %v, stdout %q, stderr %q", err, stdout.String(), stderr.String())
	}
}
