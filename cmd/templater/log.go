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

// logFlags are the flags for the log format and level.
type logFlags struct{ format, level string }

// levels are the slog levels by name. client-go and the operator log with klog's verbosity numbers, which logr maps to
// negative slog levels.
var levels = map[string]slog.Level{"error": slog.LevelError, "info": slog.LevelInfo, "verbose": -2, "debug": -4}

func (f *logFlags) add(flags *pflag.FlagSet) {
	f.format, f.level = "auto", "info"
	flags.Var(cli.NewChoice(&f.format, "text", "json", "auto"), "log-format", "log format: text, json, or auto (text on a terminal, otherwise json)")
	flags.Var(cli.NewChoice(&f.level, "error", "info", "verbose", "debug"), "log-level", "log level: error, info (also changes of children), verbose (also status writes) or debug (also each reconciliation, and client-go)")
}

// setUp sends the logs of client-go and of the operator to out, and returns a context that carries the logger.
func (f *logFlags) setUp(ctx context.Context, out io.Writer) (context.Context, error) {
	level := levels[f.level]
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: sanitize}
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

// maxValueBytes and maxStackBytes limit values in log lines.
const maxValueBytes, maxStackBytes = 4 << 10, 64 << 10

// sanitize cuts log values, and replaces unprintable characters and line breaks in them, because they can contain untrusted text. Stack traces are
// only cut.
func sanitize(_ []string, a slog.Attr) slog.Attr {
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
		return slog.String(a.Key, object.Cut(text, maxStackBytes))
	}
	return slog.String(a.Key, object.Line(text, maxValueBytes))
}

// setVerbosity sets klog's global verbosity, for parts of client-go without contextual logging.
func setVerbosity(level slog.Level) error {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	return flags.Set("v", strconv.Itoa(max(0, -int(level))))
}
