package document

import (
	"encoding/base64"
	"errors"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/token"
)

// child converts a document of a child template and normalizes it.
func (c *converter) child(n *yaml.Node) (map[string]any, error) {
	c.object = true
	v, err := c.value(n, atRoot, 0)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, c.fail(n, "an object is a map with apiVersion and kind, not %s", token.KindOf(v))
	}
	for _, key := range [...]string{"apiVersion", "kind"} {
		if s, _ := object[key].(string); s == "" {
			return nil, c.fail(n, "the object has no %s, or it is not a string", key)
		}
	}
	if metadata, there := object["metadata"]; there {
		m, ok := metadata.(map[string]any)
		if !ok {
			return nil, c.fail(n, "the object's metadata is %s, not a map", token.KindOf(metadata))
		}
		dropEmpty(m)
	}
	if err := encodeStringData(object); err != nil {
		return nil, c.wrap(n, err)
	}
	return object, nil
}

// dropEmpty drops fields that mean nothing when empty but would change the
// resourceVersion of a custom resource with every apply.
func dropEmpty(metadata map[string]any) {
	for _, key := range [...]string{"labels", "annotations"} {
		if m, ok := metadata[key].(map[string]any); ok && len(m) == 0 {
			delete(metadata, key)
		}
	}
	if list, ok := metadata["finalizers"].([]any); ok && len(list) == 0 {
		delete(metadata, "finalizers")
	}
}

// encodeStringData moves a Secret's stringData to its data. The API server does
// so too, but then keeps keys that are later dropped from stringData.
func encodeStringData(object map[string]any) error {
	if object["apiVersion"] != "v1" || object["kind"] != "Secret" {
		return nil
	}
	texts, ok := object["stringData"].(map[string]any)
	if !ok {
		if object["stringData"] != nil {
			return errors.New("stringData is not a map")
		}
		return nil
	}
	data, ok := object["data"].(map[string]any)
	if !ok {
		if object["data"] != nil {
			return errors.New("data is not a map")
		}
		data = make(map[string]any, len(texts))
	}
	for key, v := range texts {
		s, ok := v.(string)
		if !ok {
			return errors.New("a value in stringData is not a string; use quote")
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	delete(object, "stringData")
	if len(data) > 0 {
		object["data"] = data
	}
	return nil
}
