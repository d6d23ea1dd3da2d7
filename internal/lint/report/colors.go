package report

// Colors colors text for a terminal. The zero value does not change it.
type Colors struct {
	// On enables colors.
	On bool
}

// Red is for errors and deletions.
func (c Colors) Red(text string) string { return c.paint("31", text) }

// Green is for success and additions.
func (c Colors) Green(text string) string { return c.paint("32", text) }

// Yellow is for warnings and changes.
func (c Colors) Yellow(text string) string { return c.paint("33", text) }

// Cyan is for names and places.
func (c Colors) Cyan(text string) string { return c.paint("36", text) }

// Bold is for headings.
func (c Colors) Bold(text string) string { return c.paint("1", text) }

// Faint is for details.
func (c Colors) Faint(text string) string { return c.paint("2", text) }

// paint adds an ECMA-48 code.
func (c Colors) paint(code, text string) string {
	if !c.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
