package spec

import (
	"fmt"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/finding"
)

// checkCreateOnly returns errors in createOnlyFields and adoption, or nil.
func (l list) checkCreateOnly(children []v1.Child) *Rejection {
	var all faults
	for _, entry := range children {
		if entry.Adoption == v1.AdoptionIfConsented && entry.UpdateStrategy.Type == v1.UpdateRecreate {
			all.add(wrong(finding.UpdateStrategy, l.entry(entry.Name)+".adoption", "IfConsented cannot be combined with type Recreate, which could delete adopted objects: use another type"))
		}
		where := l.entry(entry.Name) + ".createOnlyFields"
		if len(entry.CreateOnlyFields) > 0 && entry.UpdateStrategy.Type == v1.UpdateCreateOnly {
			all.add(wrong(finding.CreateOnlyFields, where, "has no effect with type CreateOnly, which never updates objects: remove it"))
			continue
		}
		var before [][]string
		for i, text := range entry.CreateOnlyFields {
			path, ok := data.Path(text)
			fault := faultOfCreateOnly(path, before)
			if !ok {
				fault = "must be " + data.APath
			}
			if fault != "" {
				all.add(wrong(finding.CreateOnlyFields, fmt.Sprintf("%s[%d]", where, i), "%s", fault))
				continue
			}
			before = append(before, path)
		}
	}
	return all.joined()
}

// faultOfCreateOnly returns why a path, given as a list of keys, cannot be in createOnlyFields after the others, or "".
func faultOfCreateOnly(path []string, others [][]string) string {
	if len(path) == 0 {
		return ""
	}
	switch inMetadata := len(path) > 2 && (path[1] == "labels" || path[1] == "annotations"); {
	case path[0] == "apiVersion", path[0] == "kind", path[0] == "status":
		return path[0] + " cannot belong to other clients: list fields such as spec.replicas"
	case path[0] == "metadata" && !inMetadata:
		return "in metadata, only single labels and annotations can belong to other clients, such as metadata.annotations['example.org/owner']"
	}
	for _, other := range others {
		short, long := path, other
		if len(short) > len(long) {
			short, long = long, short
		}
		if slices.Equal(short, long[:len(short)]) {
			return "another path of the list is equal to it, contains it, or is part of it: remove the longer one"
		}
	}
	return ""
}
