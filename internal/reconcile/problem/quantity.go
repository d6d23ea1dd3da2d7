package problem

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/kube/object"
)

// badQuantity is an error for which the API server does not return the field.
const badQuantity = "a resource quantity is not valid; write it as 250m, 2 or 64Mi"

// NameQuantity adds the path of the field to an error that the API server reported without one. content is the written
// object.
func (p *Problem) NameQuantity(content map[string]any, author Author) {
	rest, bad := strings.CutSuffix(p.Message, badQuantity)
	if !bad {
		return
	}
	if path := quantityFault(content, ""); path != "" {
		p.Message = rest + author.Path(path, content) + ": " + badQuantity
	}
}

// quantityFault returns the path of the first quantity in content that cannot be parsed, or "".
func quantityFault(content any, at string) string {
	switch content := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(content)) {
			path := at + "." + name
			if object.IsQuantityField(name) {
				if fault := unreadable(content[name], path); fault != "" {
					return fault
				}
			}
			if fault := quantityFault(content[name], path); fault != "" {
				return fault
			}
		}
	case []any:
		for i, element := range content {
			if fault := quantityFault(element, fmt.Sprintf("%s[%d]", at, i)); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// unreadable returns the path of the first quantity in value that cannot be parsed, or "".
func unreadable(value any, at string) string {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if fault := unreadable(value[name], at+"."+name); fault != "" {
				return fault
			}
		}
	case string:
		if _, err := object.ParseQuantity(value); err != nil {
			return at
		}
	}
	return ""
}
