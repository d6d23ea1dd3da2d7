package docs

import _ "embed" // for the pages below

// Pages that the binary prints, in Markdown.
var (
	//go:embed reference/templates.md
	Templates string
	//go:embed reference/reasons.md
	Reasons string
)
