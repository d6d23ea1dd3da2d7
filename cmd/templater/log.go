package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/kube/object"
)

// logFlags say how to log.
type logFlags struct{ format, level string }

// levels are the levels by their names. Logs of client-go and of the operator use
// klog's numbers, which logr turns into negative levels of slog.
var levels = map[string]slog.Level{"error": slog.LevelError, "info": slog.LevelInfo, "verbose": -2, "debug": -4}

func (f *logFlags) add(flags *pflag.FlagSet) {
	f.format, f.level = "auto", "info"
	flags.Var(cli.NewChoice(&f.format, "text", "json", "auto"), "log-format", "text, json, or auto: text on a terminal, else json")
	flags.Var(cli.NewChoice(&f.level, "error", "info", "verbose", "debug"), "log-level", "error; info: changes; verbose: also decisions; debug: also events")
}

// setUp sends the logs of client-go and of the operator to out, and returns a context that carries the logger.
func (f *logFlags) setUp(ctx context.Context, out io.Writer) (context.Context, error) {
	level := levels[f.level]
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: shown}
	var handler slog.Handler = slog.NewTextHandler(out, options)
	if f.format == "json" || f.format == "auto" && !cli.IsTerminal(out) {
		handler = slog.NewJSONHandler(out, options)
	}
	slog.SetDefault(slog.New(handler))
	klog.SetSlogLogger(slog.New(handler))
	if err := setVerbosity(level); err != nil {
		return nil, err
	}
	return klog.NewContext(ctx, logr.FromSlogHandler(handler)), nil
}

// longestLogged and longestStack are how many bytes a value in a log line may have.
const longestLogged, longestStack = 4 << 10, 64 << 10

// shown has values in logs be what people can be shown: some are names or words that others have chosen. A stack has lines.
func shown(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindAny:
		err, isError := a.Value.Any().(error)
		if !isError {
			return a
		}
		text = err.Error()
	default:
		return a
	}
	if a.Key == "stack" {
		return slog.String(a.Key, object.Cut(text, longestStack))
	}
	return slog.String(a.Key, object.Line(text, longestLogged))
}

// setVerbosity has those parts of client-go log at the level that have no logger, but a number
// for the whole process.
func setVerbosity(level slog.Level) error {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	return flags.Set("v", strconv.Itoa(max(0, -int(level))))
}
