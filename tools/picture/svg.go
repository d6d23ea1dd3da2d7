package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The picture is in pixels; a character of the font is about six tenths of its size wide.
const (
	fontSize  = 13
	rowHeight = 18
	margin    = 16
	titleBar  = 34
	pageWidth = width*fontSize*605/1000 + 2*margin
)

// longestPause is how long the picture waits at most for a line, in seconds, and shortest how long at least.
const longestPause, shortestPause = 1.2, 0.06

const style = `text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6dde4;white-space:pre}
.head{font-weight:700;fill:#8cc2ff}.command{fill:#8fe0a6}.title{fill:#a9b4bf}
@keyframes wait{from{opacity:0}to{opacity:0}}.wait{animation:wait 0s step-end}
`

// still is for readers who want nothing to move: they see the end at once.
const still = "@media (prefers-reduced-motion:reduce){.wait,.roll{animation:none!important}}\n"

// svg draws lines as a terminal into which they are printed, once. A long text rolls. A program that knows no animation shows the end, and so does one
// whose reader wants no motion. The terminal has colors of its own, so that it can be read on a light page and on a dark one.
func svg(title string, lines []line) []byte {
	rows := min(len(lines), height)
	pageHeight := titleBar + rows*rowHeight + margin
	times := paced(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t">`+"\n", pageWidth, pageHeight, pageWidth, pageHeight)
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n<style>\n", escape(title))
	fmt.Fprintf(&b, style, fontSize)
	b.WriteString(rolling(times, rows))
	b.WriteString(still + "</style>\n")
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%d" height="%d" rx="8" fill="#171c22" stroke="#5b6570"/>`+"\n", pageWidth-1, pageHeight-1)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="22">$ %s</text>`+"\n", margin, escape(title))
	fmt.Fprintf(&b, `<svg x="0" y="%d" width="%d" height="%d"><g class="roll">`+"\n", titleBar, pageWidth, rows*rowHeight)
	for i, l := range lines {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		fmt.Fprintf(&b, `<text class="%s" style="animation-duration:%.2fs" x="%d" y="%d">%s</text>`+"\n", class(l.text), times[i], margin, i*rowHeight+fontSize, escape(cut(l.text)))
	}
	b.WriteString("</g></svg>\n</svg>\n")
	return []byte(b.String())
}

// paced are the times at which lines come: as they came, but with no pause that is too long to watch or too short to see.
func paced(lines []line) []float64 {
	times := make([]float64, len(lines))
	at, before := 0.0, 0.0
	for i, l := range lines {
		pause := shortestPause
		if i > 0 {
			pause = min(max(l.at-before, shortestPause), longestPause)
		}
		at, before = at+pause, l.at
		times[i] = at
	}
	return times
}

// rolling is the style that rolls the text up by a row for each line that no longer fits.
func rolling(times []float64, rows int) string {
	over := len(times) - rows
	if over <= 0 {
		return ""
	}
	var b strings.Builder
	end := times[len(times)-1]
	fmt.Fprintf(&b, ".roll{transform:translateY(%dpx);animation:roll %.2fs step-end}\n@keyframes roll{0%%{transform:none}", -over*rowHeight, end)
	for i := range over {
		fmt.Fprintf(&b, "%.2f%%{transform:translateY(%dpx)}", 100*times[rows+i]/end, -(i+1)*rowHeight)
	}
	b.WriteString("}\n")
	return b.String()
}

// class is how a line looks: a heading of a step, a command, or what a command prints.
func class(text string) string {
	switch {
	case strings.HasPrefix(text, "== "):
		return "wait head"
	case strings.HasPrefix(strings.TrimSpace(text), "$ "):
		return "wait command"
	}
	return "wait"
}

// cut cuts a line that is longer than the terminal is wide.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\x1b", "", "\t", "    ").Replace(text)
}
