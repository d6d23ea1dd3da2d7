// Package revision defines the revisions of TemplateControllers, and which parents get a new one during a rollout.
package revision

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Of returns the part of a spec that a revision consists of, without fields that have their default.
func Of(from *v1.TemplateControllerSpec) *v1.TemplateControllerSpec {
	out := (&v1.TemplateControllerSpec{
		Children: from.Children, Finalize: from.Finalize, Status: from.Status, Values: from.Values, Helpers: from.Helpers, Delimiters: from.Delimiters,
	}).DeepCopy()
	for _, r := range from.Related {
		if r.Select != "" {
			out.Related = append(out.Related, v1.Related{Name: r.Name, Select: r.Select})
		}
	}
	spec.OmitDefaults(out)
	return out
}

// Merge returns a live spec with the templates of a revision. It has all defaults.
func Merge(live, revision *v1.TemplateControllerSpec) *v1.TemplateControllerSpec {
	out, from := live.DeepCopy(), revision.DeepCopy()
	out.Children, out.Finalize, out.Status, out.Values, out.Helpers, out.Delimiters = from.Children, from.Finalize, from.Status, from.Values, from.Helpers, from.Delimiters
	selects := map[string]string{}
	for _, r := range from.Related {
		selects[r.Name] = r.Select
	}
	for i := range out.Related {
		out.Related[i].Select = selects[out.Related[i].Name]
	}
	spec.Default(out)
	return out
}

// Encode returns a revision as canonical JSON.
func Encode(revision *v1.TemplateControllerSpec) ([]byte, error) {
	out := *revision
	if out.Values != nil { // the API server keeps its text, which may differ for equal values
		var values any
		decoder := json.NewDecoder(bytes.NewReader(out.Values.Raw))
		decoder.UseNumber()
		if err := decoder.Decode(&values); err != nil {
			return nil, fmt.Errorf("spec.values: %w", err)
		}
		raw, err := json.Marshal(values)
		if err != nil {
			return nil, fmt.Errorf("spec.values: %w", err)
		}
		out.Values = &apiextensionsv1.JSON{Raw: raw}
	}
	return json.Marshal(&out)
}

// ID returns the name of a revision in status and rollout.approvedRevision: 16 hexadecimal digits of a hash of its canonical JSON.
func ID(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:8])
}

// IDOf returns the ID of the revision in a spec, or "" if it has none, because spec.values is invalid.
func IDOf(of *v1.TemplateControllerSpec) string {
	text, err := Encode(Of(of))
	if err != nil {
		return ""
	}
	return ID(text)
}

// Name returns the name of the TemplateRevision of a TemplateController with that name and UID.
func Name(controller string, uid types.UID, id string) string {
	sum := sha256.Sum256([]byte(string(uid) + "/" + id))
	return controller + "-" + hex.EncodeToString(sum[:5])
}

// most is the maximum size of a revision as JSON, which exceeds the maximum size of objects in etcd.
const most = 8 << 20

// errTooLarge means that the data of a TemplateRevision is too large.
var errTooLarge = errors.New("the revision is too large")

// Compress returns canonical JSON as in TemplateRevision.data.
func Compress(canonical []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(canonical); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

// Decode returns the revision and its ID from TemplateRevision.data. The revision has no defaults.
func Decode(data []byte) (revision *v1.TemplateControllerSpec, id string, err error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, "", fmt.Errorf("decompress the revision: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, "", fmt.Errorf("decompress the revision: %w", err)
	}
	if len(text) > most {
		return nil, "", errTooLarge
	}
	revision = &v1.TemplateControllerSpec{}
	if err := json.Unmarshal(text, revision); err != nil {
		return nil, "", fmt.Errorf("decode the revision: %w", err)
	}
	return revision, ID(text), nil
}

// Sealed returns the text that the seal of a TemplateRevision covers: everything but its metadata.
func Sealed(r *v1.TemplateRevision) []byte {
	unsealed := v1.TemplateRevision{Controller: r.Controller, Revision: r.Revision, Data: r.Data, Rollout: r.Rollout}
	text, _ := json.Marshal(&unsealed) // always possible
	return text
}

// Read converts a TemplateRevision from the API server.
func Read(o *object.Object) (*v1.TemplateRevision, error) {
	out := &v1.TemplateRevision{}
	if err := o.Unmarshal(out); err != nil {
		return nil, fmt.Errorf("decode TemplateRevision: %w", err)
	}
	return out, nil
}

// Live returns the part of a spec that is not a revision.
func Live(of *v1.TemplateControllerSpec) *v1.TemplateControllerSpec {
	return Merge(of, &v1.TemplateControllerSpec{})
}
