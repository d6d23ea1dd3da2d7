package docs

import _ "embed" // for the pages below

// Pages that the binary tells of, in Markdown.
var (
	//go:embed templates.md
	Templates string
	//go:embed troubleshooting.md
	Troubleshooting string
)
