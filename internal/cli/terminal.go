package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/templater-dev/templater/internal/lint/report"
)

// IsTerminal reports whether somebody reads along.
func IsTerminal(out any) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ColoursFor returns colours for a terminal, and none for anything else, for a terminal without colours, and where the user
// wants none (https://no-color.org).
func ColoursFor(out io.Writer) report.Colours {
	return report.Colours{On: IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
