package token

import (
	"regexp"
	"strconv"
)

// escapedMarker matches what YAML may read as a private-use character.
var escapedMarker = regexp.MustCompile(`\\(?:u|U0000)([0-9a-fA-F]{4})`)

// ChooseMarker returns a private-use character that none of texts contains,
// in the form of an escape either, or "" if they use all of them.
func ChooseMarker(texts []string) string {
	used := map[rune]bool{}
	for _, text := range texts {
		for _, r := range text {
			if r >= firstMarker {
				used[r] = true
			}
		}
		for _, m := range escapedMarker.FindAllStringSubmatch(text, -1) {
			r, _ := strconv.ParseUint(m[1], 16, 16)
			used[rune(r)] = true
		}
	}
	r := firstMarker
	for used[r] {
		r++
	}
	if r > lastMarker {
		return ""
	}
	return string(r)
}

// firstMarker begins Unicode's private use area; the 6,400 characters there
// are printable to YAML and mean nothing to it.
const (
	firstMarker = '\ue000'
	lastMarker  = '\uf8ff'
)
