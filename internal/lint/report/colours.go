package report

// Colours paints text for a terminal. The zero value leaves it as it is.
type Colours struct {
	// On is whether there are any.
	On bool
}

// Red is for errors and for what goes.
func (c Colours) Red(text string) string { return c.paint("31", text) }

// Green is for what is fine and for what comes.
func (c Colours) Green(text string) string { return c.paint("32", text) }

// Yellow is for warnings and for what changes.
func (c Colours) Yellow(text string) string { return c.paint("33", text) }

// Cyan is for names and places.
func (c Colours) Cyan(text string) string { return c.paint("36", text) }

// Bold is for headings.
func (c Colours) Bold(text string) string { return c.paint("1", text) }

// Faint is for what is beside the point.
func (c Colours) Faint(text string) string { return c.paint("2", text) }

// paint uses a code of ECMA-48.
func (c Colours) paint(code, text string) string {
	if !c.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
