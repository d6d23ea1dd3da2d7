package data

import "strings"

// APath says what a path looks like.
const APath = "a path such as status.phase or metadata.labels['a.b/c']"

// Path returns the keys of a dotted path, in which ['a.b/c'] stands for a key with dots, or false where the text is no
// path. A dot may begin it.
func Path(text string) (keys []string, ok bool) {
	for rest := strings.TrimPrefix(text, "."); rest != ""; {
		var key string
		if key, rest = cutKey(rest, len(keys) == 0); key == "" {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, len(keys) > 0
}

// cutKey splits off the first key of a path; "" stands for what is none.
func cutKey(s string, first bool) (key, rest string) {
	if after, quoted := strings.CutPrefix(s, "['"); quoted {
		key, rest, found := strings.Cut(after, "']")
		if !found {
			return "", ""
		}
		return key, rest
	}
	if !first {
		after, dotted := strings.CutPrefix(s, ".")
		if !dotted {
			return "", ""
		}
		s = after
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}
