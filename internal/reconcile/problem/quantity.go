package problem

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// badQuantity is a fault of which the server does not name the field.
const badQuantity = "a resource quantity is not valid; write it as 250m, 2 or 64Mi"

// quantities are the fields that hold quantities, or mappings of them, in the kinds of Kubernetes.
var quantities = map[string]bool{
	"limits": true, "requests": true, "hard": true, "capacity": true, "overhead": true, "sizeLimit": true, "divisor": true,
	"max": true, "min": true, "default": true, "defaultRequest": true, "maxLimitRequestRatio": true,
}

// NameQuantity adds the path of the field to a fault that the server has reported without one. The content is what was
// written.
func (p *Problem) NameQuantity(content map[string]any, author Author) {
	rest, bad := strings.CutSuffix(p.Message, badQuantity)
	if !bad {
		return
	}
	if path := quantityFault(content, ""); path != "" {
		p.Message = rest + author.Path(path, content) + ": " + badQuantity
	}
}

// quantityFault returns the path of the first quantity in content that cannot be read, or "".
func quantityFault(content any, at string) string {
	switch content := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(content)) {
			path := at + "." + name
			if quantities[name] {
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

// unreadable returns the path of the first of some quantities that cannot be read, or "".
func unreadable(value any, at string) string {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if fault := unreadable(value[name], at+"."+name); fault != "" {
				return fault
			}
		}
	case string:
		if _, err := resource.ParseQuantity(value); err != nil {
			return at
		}
	}
	return ""
}
