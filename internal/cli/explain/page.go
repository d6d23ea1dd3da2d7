package explain

import (
	"regexp"
	"slices"
	"strings"
)

// rows returns the cells of the first table below a heading of a page, without its header.
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

// section is a third-level heading and the text below it.
type section struct {
	title      string
	paragraphs []string // one line each; at least one
}

// sections returns the sections below a heading of a page. Code is omitted, and each table row is a paragraph.
func sections(page, heading string) []section {
	_, text, _ := strings.Cut(page, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var all []section
	for _, part := range strings.Split(text, "\n### ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		s := section{title: strings.TrimSpace(title)}
		for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
			switch {
			case strings.HasPrefix(block, "|"):
				s.paragraphs = append(s.paragraphs, lines(block)...)
			case !strings.HasPrefix(block, "    "):
				s.paragraphs = append(s.paragraphs, strings.Join(strings.Fields(block), " "))
			}
		}
		all = append(all, s)
	}
	return all
}

// lines returns the rows of a table as text: the first cell, a colon, and the other cells.
func lines(table string) []string {
	var all []string
	for _, row := range body(slices.Collect(strings.Lines(table))) {
		c := cells(strings.TrimSpace(row))
		all = append(all, c[0]+": "+strings.Join(c[1:], " "))
	}
	return all
}

// body removes the header of a table.
func body[T any](table []T) []T {
	const head = 2
	return table[min(head, len(table)):]
}

// cells returns the cells of a table row.
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

// plain removes Markdown syntax from a text.
func plain(text string) string {
	text = link.ReplaceAllString(anchor.ReplaceAllString(text, ""), "$1")
	return strings.NewReplacer("`", "", "**", "").Replace(text)
}
