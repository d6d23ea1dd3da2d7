package scaffold

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
)

// actions are the actions in objects, by token.
type actions []string

var tokens = regexp.MustCompile(`xTEMPLATERx([0-9]+)x`)

// token returns a placeholder for the output of an action until the object is marshaled.
func (a *actions) token(action string) string {
	*a = append(*a, action)
	return fmt.Sprintf("xTEMPLATERx%dx", len(*a)-1)
}

// manifest returns the manifest of an object, with actions in place of tokens.
func (a *actions) manifest(content map[string]any) string {
	text, rest := "", maps.Clone(content)
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		if value, found := rest[key]; found {
			text += marshal(map[string]any{key: value})
			delete(rest, key)
		}
	}
	if len(rest) > 0 {
		text += marshal(rest)
	}
	return a.print(text)
}

// print returns a text with actions in place of tokens.
func (a *actions) print(text string) string {
	return tokens.ReplaceAllStringFunc(text, func(token string) string {
		i, _ := strconv.Atoi(tokens.FindStringSubmatch(token)[1])
		return (*a)[i]
	})
}
