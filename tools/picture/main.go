// Command picture records what a command prints, and draws the recording as an SVG that plays once: the picture of the demo in the README.
//
//	picture record FILE.cast COMMAND [ARGUMENT]…
//	picture draw FILE.cast FILE.svg
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"
)

var errUsage = errors.New("usage: picture record FILE.cast COMMAND… | picture draw [--from TEXT] [--until TEXT] FILE.cast FILE.svg")

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 2 && args[0] == "record":
		return record(ctx, args[1], args[2:])
	case len(args) > 2 && args[0] == "draw":
		return draw(args[1:])
	}
	return errUsage
}

// record runs a command in the folder that it is called in, shows what it prints, and writes a recording of that.
func record(ctx context.Context, file string, args []string) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	tape := newTape(os.Stdout, folder, time.Now)
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Stdout, command.Stderr = tape, tape
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	var b bytes.Buffer
	if err := tape.cast(args).write(&b); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644) //nolint:gosec // it is to be read by all
}

func draw(args []string) error {
	flags := flag.NewFlagSet("draw", flag.ContinueOnError)
	var part part
	flags.StringVar(&part.from, "from", "", "leave out the lines before the one that holds this text")
	flags.StringVar(&part.until, "until", "", "leave out the line that holds this text, and those after it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errUsage
	}
	text, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	c, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	lines, err := part.of(c.lines())
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	return os.WriteFile(flags.Arg(1), svg(c.header.Title, lines), 0o644) //nolint:gosec // it is to be read by all
}
