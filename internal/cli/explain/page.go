package explain

import (
	"regexp"
	"strings"
)

// rows returns the cells of the first table below a heading of a page, without its head.
func rows(page, heading string) [][]string {
	_, section, _ := strings.Cut(page, "\n"+heading+"\n")
	var all [][]string
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			return body(all)
		case strings.HasPrefix(line, "|"):
			all = append(all, cells(line))
		case len(all) > 0:
			return body(all)
		}
	}
	return body(all)
}

// body leaves out the head of a table.
func body(table [][]string) [][]string {
	const head = 2
	return table[min(head, len(table)):]
}

// cells returns those of a line of a table.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.Trim(line, "|"), `\|`, bar)
	all := strings.Split(line, "|")
	for i, cell := range all {
		all[i] = strings.TrimSpace(strings.ReplaceAll(cell, bar, "|"))
	}
	return all
}

var (
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	anchor = regexp.MustCompile(`<a [^>]*></a>`)
)

// plain takes the marks of Markdown out of a text.
func plain(text string) string {
	text = link.ReplaceAllString(anchor.ReplaceAllString(text, ""), "$1")
	return strings.NewReplacer("`", "", "**", "").Replace(text)
}
