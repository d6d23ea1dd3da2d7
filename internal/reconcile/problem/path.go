package problem

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Author reports whether the author of templates wrote a word in them. Any other key of their objects came
// from data, and must not be in a message.
type Author func(word string) bool

// writeError is the answer to a write, with what was written. See Author.Path.
type writeError struct {
	error
	wrote   Author
	content map[string]any
}

func (e *writeError) Unwrap() error { return e.error }

// About adds to the error of a write what was written, so that no message about it quotes a
// key that came from data.
func (a Author) About(err error, content map[string]any) error {
	return &writeError{err, a, content}
}

// pathOf returns the path of a field that an answer is about as it may be published.
func pathOf(err error, path string) string {
	if e, ok := errors.AsType[*writeError](err); ok {
		path, _ = authored(path, e.wrote, e.content)
	}
	return publicPath(path)
}

// writtenPath does so for a path that was found in the words of an answer, to a field that was
// written. One that is not there is a piece of a key or of a value.
func writtenPath(err error, path string) string {
	if e, ok := errors.AsType[*writeError](err); ok {
		whole := false
		if path, whole = authored(path, e.wrote, e.content); !whole {
			return aField
		}
	}
	return publicPath(path)
}

// aField stands for a path that must not be in a message.
const aField = "a field"

// Path returns the path of a field of contents that templates yielded as it may be published.
func (a Author) Path(path string, contents ...map[string]any) string {
	path, _ = authored(path, a, contents...)
	return publicPath(path)
}

// authored returns a path into any of the contents, with … for each key that the author
// of the templates did not write: it came from data, like the keys of a map that is printed. A key that is not in
// the contents is a field of the schema; whole is whether all of the path is in them.
func authored(path string, wrote Author, contents ...map[string]any) (shown string, whole bool) {
	var out strings.Builder
	at := make([]any, len(contents))
	for i, content := range contents {
		at[i] = content
	}
	for path != "" {
		if path[0] == '[' {
			end := strings.IndexByte(path, ']') + 1
			if end == 0 {
				break
			}
			out.WriteString(path[:end])
			at, path = items(at, path[1:end-1]), path[end:]
			continue
		}
		rest, dotted := strings.CutPrefix(path, ".")
		key := longestKey(at, rest)
		if key == "" {
			break
		}
		if dotted {
			out.WriteByte('.')
		}
		if ownKeys[key] || commonKeys[key] || wrote(key) {
			out.WriteString(key)
		} else {
			out.WriteString("…")
		}
		at, path = values(at, key), rest[len(key):]
	}
	return out.String() + path, path == ""
}

// ownKeys are the keys that templater adds to what templates yield.
var ownKeys = map[string]bool{
	"metadata": true, "namespace": true, "data": true, "status": true, "conditions": true,
	"type": true, "reason": true, "message": true, "lastTransitionTime": true, "observedGeneration": true,
}

// commonKeys are the labels and annotations that Kubernetes itself sets: they contain no data of users.
// https://kubernetes.io/docs/reference/labels-annotations-taints/
var commonKeys = map[string]bool{
	"app.kubernetes.io/name": true, "app.kubernetes.io/instance": true, "app.kubernetes.io/version": true, "app.kubernetes.io/component": true,
	"app.kubernetes.io/part-of": true, "app.kubernetes.io/managed-by": true, "pod-template-hash": true, "controller-revision-hash": true,
	"deployment.kubernetes.io/revision": true, "deployment.kubernetes.io/desired-replicas": true, "deployment.kubernetes.io/max-replicas": true,
	"deprecated.daemonset.template.generation": true, "kubectl.kubernetes.io/last-applied-configuration": true, "kubectl.kubernetes.io/restartedAt": true,
	"kubernetes.io/change-cause": true, "kubernetes.io/metadata.name": true, "kubernetes.io/service-account.name": true, "kubernetes.io/service-account.uid": true,
	"batch.kubernetes.io/job-name": true, "batch.kubernetes.io/controller-uid": true, "batch.kubernetes.io/job-tracking": true, "job-name": true, "controller-uid": true,
	"pv.kubernetes.io/bind-completed": true, "pv.kubernetes.io/bound-by-controller": true, "pv.kubernetes.io/provisioned-by": true,
	"volume.kubernetes.io/selected-node": true, "volume.kubernetes.io/storage-provisioner": true, "volume.beta.kubernetes.io/storage-provisioner": true,
}

// longestKey returns the longest key of the maps that a path begins with, or "".
func longestKey(maps []any, path string) string {
	longest := ""
	for _, m := range maps {
		m, _ := m.(map[string]any)
		for key := range m {
			rest, begins := strings.CutPrefix(path, key)
			if begins && len(key) > len(longest) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				longest = key
			}
		}
	}
	return longest
}

// values returns what is under a key of the maps.
func values(maps []any, key string) []any {
	var all []any
	for _, m := range maps {
		if m, _ := m.(map[string]any); m[key] != nil {
			all = append(all, m[key])
		}
	}
	return all
}

// items returns what brackets in a path may stand for: the item at a position of a list, or else all
// that is in the lists and maps.
func items(collections []any, in string) []any {
	position, err := strconv.Atoi(in)
	var all []any
	for _, v := range collections {
		switch v := v.(type) {
		case []any:
			if err != nil {
				all = append(all, v...)
			} else if position >= 0 && position < len(v) {
				all = append(all, v[position])
			}
		case map[string]any:
			for _, item := range v {
				all = append(all, item)
			}
		}
	}
	return all
}

// The form of a path that may be in a message. The key of a list item in a path is a value: [name="x"].
var (
	listKey   = regexp.MustCompile(`\[[^\]]*\]?`)
	plainPath = regexp.MustCompile(`^[-A-Za-z0-9_./…\[\]]+$`)
)

// longestPath limits the length of a path in a message. The deepest ones of Kubernetes' own kinds are half as long.
const longestPath = 512

// publicPath returns the path with the keys of list items left out. A path that
// still does not look like one may be a piece of a value, and is left out.
func publicPath(path string) string {
	path = listKey.ReplaceAllStringFunc(path, func(key string) string {
		if strings.Trim(key, "[]0123456789") == "" {
			return key
		}
		return "[…]"
	})
	if !plainPath.MatchString(path) || len(path) > longestPath {
		return aField
	}
	return path
}
