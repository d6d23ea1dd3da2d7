package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/templater-dev/templater/internal/lint/report"
)

// IsTerminal reports whether the output is a terminal.
func IsTerminal(out any) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ColorsFor returns colors for a color terminal, and none for other output or if the user
// disabled them (https://no-color.org).
func ColorsFor(out io.Writer) report.Colors {
	return report.Colors{On: IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
