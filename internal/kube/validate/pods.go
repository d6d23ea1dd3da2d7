package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/templater-dev/templater/internal/kube/object"
)

// pod checks the parts of a Pod that refer to each other.
func pod(c *checker, o map[string]any, at *field.Path) {
	volumes := map[string]bool{}
	for _, v := range list(o, "volumes") {
		volumes[text(v, "name")] = true
	}
	for _, claim := range c.claims {
		volumes[text(claim, "metadata", "name")] = true
	}
	all := slices.Concat(list(o, "initContainers"), list(o, "containers"))
	c.unique(all, "name", child(at, "containers"))
	for _, group := range []string{"initContainers", "containers"} {
		for i, each := range list(o, group) {
			c.container(each, volumes, child(at, group).Index(i))
			if group == "initContainers" {
				c.initContainer(each, child(at, group).Index(i))
			}
		}
	}
}

func (c *checker) container(o map[string]any, volumes map[string]bool, at *field.Path) {
	c.needs(o, "image", at)
	c.mounts(o, volumes, at)
	c.unique(list(o, "ports"), "name", at.Child("ports"))
}

func (c *checker) initContainer(o map[string]any, at *field.Path) {
	if text(o, "restartPolicy") == "Always" {
		return
	}
	for _, name := range []string{"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} {
		if o[name] != nil {
			c.errs = append(c.errs, field.Forbidden(at.Child(name), "may not be set for init containers without restartPolicy=Always"))
		}
	}
}

func (c *checker) mounts(container map[string]any, volumes map[string]bool, at *field.Path) {
	paths := map[string]bool{}
	for i, mount := range list(container, "volumeMounts") {
		in := at.Child("volumeMounts").Index(i)
		if name := text(mount, "name"); name != "" && !volumes[name] {
			c.errs = append(c.errs, field.NotFound(in.Child("name"), name))
		}
		path := text(mount, "mountPath")
		if paths[path] && path != "" {
			c.invalid(in.Child("mountPath"), path, "must be unique")
		}
		paths[path] = true
		if detail := localPath(text(mount, "subPath")); detail != "" {
			c.invalid(in.Child("subPath"), text(mount, "subPath"), detail)
		}
	}
}

// resources checks the resources of a container.
func resources(c *checker, o map[string]any, at *field.Path) {
	in := child(at, "resources")
	requests, limits := part(o, "resources", "requests"), part(o, "resources", "limits")
	for name, all := range map[string]map[string]any{"requests": requests, "limits": limits} {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			switch {
			case !containerResource(key):
				c.invalid(in.Child(name).Key(key), key, "must be a standard resource for containers")
			case negative(all[key]):
				c.invalid(in.Child(name).Key(key), all[key], "must be greater than or equal to 0")
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		if more(requests[key], limits[key]) {
			c.invalid(in.Child("requests"), requests[key], fmt.Sprintf("must be less than or equal to %s limit of %v", key, limits[key]))
		}
	}
}

// containerResource reports whether a container can have a resource: a standard one, or one with a domain.
func containerResource(name string) bool {
	return slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, name) || strings.HasPrefix(name, "hugepages-") || qualified(name) == "" && strings.Contains(name, "/")
}

// more reports whether a quantity is larger than another one. Missing and invalid ones are not.
func more(a, b any) bool {
	if a == nil || b == nil {
		return false
	}
	x, errX := object.ParseQuantity(fmt.Sprint(a))
	y, errY := object.ParseQuantity(fmt.Sprint(b))
	return errX == nil && errY == nil && x.Cmp(y) > 0
}

func limits(c *checker, o map[string]any, at *field.Path) {
	least, most := part(o, "min"), part(o, "max")
	for _, key := range slices.Sorted(maps.Keys(least)) {
		if more(least[key], most[key]) {
			c.invalid(child(at, "min").Key(key), least[key], "min value is greater than max value")
		}
	}
	for _, pair := range [][2]string{{"min", "default"}, {"min", "defaultRequest"}, {"defaultRequest", "default"}, {"default", "max"}, {"defaultRequest", "max"}} {
		low, high := part(o, pair[0]), part(o, pair[1])
		for _, key := range slices.Sorted(maps.Keys(low)) {
			if more(low[key], high[key]) {
				c.invalid(child(at, pair[1]).Key(key), high[key], fmt.Sprintf("%s value is greater than %s value", pair[0], pair[1]))
			}
		}
	}
	for _, name := range []string{"min", "max", "default", "defaultRequest"} {
		for _, key := range slices.Sorted(maps.Keys(part(o, name))) {
			if kind := text(o, "type"); !containerResource(key) && (kind == "Pod" || kind == "Container") {
				c.invalid(child(at, name).Key(key), key, "must be a standard resource for containers")
			}
		}
	}
	if text(o, "type") == "Pod" && (o["default"] != nil || o["defaultRequest"] != nil) {
		c.errs = append(c.errs, field.Forbidden(child(at, "default"), "may not be specified when `type` is 'Pod'"))
	}
}

func quota(c *checker, o map[string]any, at *field.Path) {
	hard := part(o, "hard")
	for _, key := range slices.Sorted(maps.Keys(hard)) {
		if !quotaResource(key) {
			c.invalid(child(at, "hard").Key(key), key, "must be a standard resource for quota")
		}
		if negative(hard[key]) {
			c.invalid(child(at, "hard").Key(key), hard[key], "must be greater than or equal to 0")
		}
	}
}

// quotaResource reports whether a quota can have a resource.
func quotaResource(name string) bool {
	for _, prefix := range []string{"requests.", "limits."} {
		if rest, of := strings.CutPrefix(name, prefix); of {
			return rest == "storage" || containerResource(rest)
		}
	}
	counted := []string{"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
	return containerResource(name) || slices.Contains(counted, name)
}
