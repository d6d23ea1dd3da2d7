package problem

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Author reports whether a word appears literally in the templates. Other keys of their objects come from data, and
// must not appear in messages.
type Author func(word string) bool

// writeError is the error of a write, with the content that was written.
type writeError struct {
	error
	wrote   Author
	content map[string]any
}

func (e *writeError) Unwrap() error { return e.error }

// About adds the written content to the error of a write, so that messages about it omit keys that come from data.
func (a Author) About(err error, content map[string]any) error {
	return &writeError{err, a, content}
}

// pathOf returns the path of a field that a response is about, in a form that messages may contain.
func pathOf(err error, path string) string {
	if e, ok := errors.AsType[*writeError](err); ok {
		path, _ = authored(path, e.wrote, e.content)
	}
	return publicPath(path)
}

// writtenPath is pathOf for a path that was found in the text of a response. A path that does not exist in the content
// is a part of a key or value.
func writtenPath(err error, path string) string {
	if e, ok := errors.AsType[*writeError](err); ok {
		whole := false
		if path, whole = authored(path, e.wrote, e.content); !whole {
			return aField
		}
	}
	return publicPath(path)
}

// aField replaces a path that must not appear in a message.
const aField = "a field"

// Path returns the path of a field of rendered contents, in a form that messages may contain.
func (a Author) Path(path string, contents ...map[string]any) string {
	path, _ = authored(path, a, contents...)
	return publicPath(path)
}

// authored returns a path into any of the contents, with … for each key that does not appear in the templates: it comes
// from data, such as the keys of a map that is printed. A key that is not in the contents is a field of the schema.
// whole reports whether the whole path is in the contents.
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

// ownKeys are the keys that templater adds to rendered objects.
var ownKeys = map[string]bool{
	"metadata": true, "namespace": true, "data": true, "status": true, "conditions": true,
	"type": true, "reason": true, "message": true, "lastTransitionTime": true, "observedGeneration": true,
}

// commonKeys are the labels and annotations that Kubernetes itself sets. They contain no user data.
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

// longestKey returns the longest key of the maps that is a prefix of the path, or "".
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

// values returns the values of a key in the maps.
func values(maps []any, key string) []any {
	var all []any
	for _, m := range maps {
		if m, _ := m.(map[string]any); m[key] != nil {
			all = append(all, m[key])
		}
	}
	return all
}

// items returns what brackets in a path may refer to: the list item at an index, or else all items of the lists and
// maps.
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

// The form of a path that messages may contain. The key of a list item in a path is a value: [name="x"].
var (
	listKey   = regexp.MustCompile(`\[[^\]]*\]?`)
	plainPath = regexp.MustCompile(`^[-A-Za-z0-9_./…\[\]]+$`)
)

// maxPath is the maximum length of a path in a message. The longest paths of built-in kinds are half as long.
const maxPath = 512

// publicPath returns the path without the keys of list items. If the result does not look like a path, it may be part
// of a value, and is replaced.
func publicPath(path string) string {
	path = listKey.ReplaceAllStringFunc(path, func(key string) string {
		if strings.Trim(key, "[]0123456789") == "" {
			return key
		}
		return "[…]"
	})
	if !plainPath.MatchString(path) || len(path) > maxPath {
		return aField
	}
	return path
}
