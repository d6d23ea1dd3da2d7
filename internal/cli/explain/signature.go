package explain

import (
	_ "embed" // for the examples
	"slices"
	"strings"
	"sync"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// typeWords name the types of arguments and results.
var typeWords = map[syntax.Type]string{
	syntax.TypeAny: "VALUE", syntax.TypeText: "STRING", syntax.TypeWhole: "INTEGER", syntax.TypeNumber: "NUMBER", syntax.TypeFloat: "NUMBER", syntax.TypeBoolean: "BOOLEAN",
	syntax.TypeList: "LIST", syntax.TypeMap: "MAP", syntax.TypeSequence: "LIST|STRING", syntax.TypeContainer: "LIST|MAP|STRING", syntax.TypeOrdered: "NUMBER|STRING",
}

// signature returns the name, the types of the arguments, and the type of the result of a function. Optional arguments are in brackets.
func signature(f *syntax.Function) string {
	word := func(t syntax.Type) string {
		if t.Nil() {
			t += 'a' - 'A'
		}
		return typeWords[t]
	}
	parts := []string{f.Name}
	for i, t := range f.Takes {
		if i >= f.Min {
			parts = append(parts, "["+word(t)+"]")
		} else {
			parts = append(parts, word(t))
		}
	}
	if f.More != 0 {
		parts = append(parts, "["+word(f.More)+"...]")
	}
	result := word(f.Yields)
	if f.Items != 0 {
		result += " of " + word(f.Items)
	}
	return strings.Join(parts, " ") + " -> " + result
}

//go:embed examples.txt
var exampleText string

// examples are the examples of functions by the name of the function: an action and, if it does not depend on data, its result as JSON.
var examples = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(exampleText) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = strings.TrimSpace(line)
	}
	return all
})

// topics are names for words that are not in the documentation.
var topics = map[string][]string{
	"password": {"randAlphaNum", "derivePassword", "htpasswd"}, "secret": {"randAlphaNum"}, "token": {"randAlphaNum"}, "uuid": {"uuidv4"}, "generate": {"randAlphaNum", "genCA"},
	"expiry": {"now", "after"}, "expire": {"now", "after"}, "ttl": {"now", "after"}, "age": {"now", "after"}, "timestamp": {"now"}, "cron": {"now", "spec.resyncPeriod"},
	"loop": {"range"}, "for": {"range"}, "foreach": {"range"}, "certificate": {"genCA"}, "tls": {"genCA"},
	"base64": {"b64enc", "b64dec"}, "hash": {"sha256sum"}, "substring": {"substr", "trunc"}, "uppercase": {"upper"}, "lowercase": {"lower"},
	"filter": {"where", "spec.watch.filter"}, "map": {"dict", "collect"}, "array": {"list"}, "length": {"len"}, "size": {"len"}, "sort": {"sortAlpha", "sortBy"},
	"json": {"toJson", "fromJson"}, "yaml": {"toYaml", "fromYaml"}, "regex": {"regexMatch", "regexReplaceAll"}, "concatenate": {"printf", "concat"}, "unique": {"uniq"},
	"exists": {"hasKey"}, "null": {"default"}, "configmap": {"lookup"}, "helper": {"include"},
}

// Search returns entries about a word that is no name: those of its topic, or up to ten whose documentation contains it.
func Search(word string) (found []Entry) {
	for _, name := range topics[strings.ToLower(word)] {
		found = append(found, Find(name)...)
	}
	if len(found) > 0 {
		return found
	}
	const shortest, most = 3, 10
	for _, e := range all() {
		words := strings.FieldsFunc(strings.ToLower(e.About), func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", r) })
		if len(word) >= shortest && len(found) < most && slices.Contains(words, strings.ToLower(word)) {
			found = append(found, e)
		}
	}
	return found
}
