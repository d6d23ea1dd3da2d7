package reconciletest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Annotate sets annotations, given as key-value pairs, like kubectl annotate; "" removes one.
func (c *Cluster) Annotate(at request.Location, pairs ...string) {
	c.T.Helper()
	c.KubectlEdit(at, func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		for i := 0; i < len(pairs); i += 2 {
			annotations = changed(annotations, pairs[i], pairs[i+1])
		}
		o.SetAnnotations(annotations)
	})
}

// An Attack is an edit of a child by a user who may patch it. earlier is a valid seal that the child had before.
type Attack func(c *Cluster, at request.Location, earlier string)

// OtherTemplate is the child template that attacks use, see WithOtherTemplate.
const OtherTemplate = "elsewhere"

// SealOfFormat1 is the seal that earlier versions wrote for the ConfigMap ns/a of the parent One.
const SealOfFormat1 = "1:mjuohs3f:y-oOtfwz7ONvwv87p7Lmmg:maps"

// Attacks are edits that forge the labels and annotations of a child.
var Attacks = map[string]Attack{
	"the hash is removed":                                     annotate(v1.AnnotationHash, ""),
	"the hash is forged":                                      annotate(v1.AnnotationHash, "0123"),
	"the seal is removed":                                     annotate(v1.AnnotationSeal, ""),
	"the seal is malformed":                                   annotate(v1.AnnotationSeal, "x"),
	"an earlier seal is restored while there is no label":     restoreUnlabeled(true),
	"an earlier seal is restored after the label was removed": restoreUnlabeled(false),
	"an earlier seal is restored":                             restore,
	"an earlier seal is restored after there was none": func(c *Cluster, at request.Location, earlier string) {
		annotate(v1.AnnotationSeal, "")(c, at, earlier)
		restore(c, at, earlier)
	},
	"a seal of format 1 is restored":                       annotate(v1.AnnotationSeal, SealOfFormat1),
	"a seal of format 1 is restored, and the hash removed": annotate(v1.AnnotationSeal, SealOfFormat1, v1.AnnotationHash, ""),
	"all annotations are removed":                          removeAnnotations,
	"prune is removed":                                     annotate(v1.AnnotationPrune, ""),
	"prune is changed":                                     annotate(v1.AnnotationPrune, "Delete"),
	"deletion is removed":                                  annotate(v1.AnnotationDeletion, ""),
	"deletion is changed":                                  annotate(v1.AnnotationDeletion, "Delete"),
	"order is changed":                                     annotate(v1.AnnotationOrder, "7"),
	"the label names another child template":               relabel(func(*Cluster, request.Location, string) {}),
	"the label names another child template, and the seal is removed":            relabel(annotate(v1.AnnotationSeal, "")),
	"the label names another child template, and the seal is malformed":          relabel(annotate(v1.AnnotationSeal, "x")),
	"the label names another child template, and an earlier seal is restored":    relabel(restore),
	"the label names another child template, and all annotations are removed":    relabel(removeAnnotations),
	"the label of the parent is removed, and the seal":                           Disown(v1.LabelParentUID, "", ""),
	"the label of the parent names another, and the seal is removed":             Disown(v1.LabelParentUID, "0000", ""),
	"the label of the parent names another, and the seal is malformed":           Disown(v1.LabelParentUID, "0000", "x"),
	"the label of the TemplateController is removed, and the seal":               Disown(v1.LabelController, "", ""),
	"the label of the TemplateController names another, and the seal is removed": Disown(v1.LabelController, "zzz", ""),
}

// annotate sets annotations; "" removes one.
func annotate(pairs ...string) Attack {
	return func(c *Cluster, at request.Location, _ string) { c.Annotate(at, pairs...) }
}

// restore restores the earlier seal.
func restore(c *Cluster, at request.Location, earlier string) {
	c.Annotate(at, v1.AnnotationSeal, earlier)
}

func removeAnnotations(c *Cluster, at request.Location, _ string) {
	c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
}

// restoreUnlabeled restores the earlier seal while the label is missing, so that no watch shows the child. back means
// that the label is restored afterwards.
func restoreUnlabeled(back bool) Attack {
	return func(c *Cluster, at request.Location, earlier string) {
		controller := c.Objects[at].GetLabels()[v1.LabelController]
		c.setLabel(at, v1.LabelController, "")
		restore(c, at, earlier)
		if back {
			c.setLabel(at, v1.LabelController, controller)
		}
	}
}

// relabel performs another attack, then sets the child label to OtherTemplate.
func relabel(attack Attack) Attack {
	return func(c *Cluster, at request.Location, earlier string) {
		attack(c, at, earlier)
		c.setLabel(at, v1.LabelChild, OtherTemplate)
	}
}

// Disown changes an ownership label and the seal in one write; "" removes them.
func Disown(label, value, seal string) Attack {
	return func(c *Cluster, at request.Location, _ string) {
		c.KubectlEdit(at, func(o *unstructured.Unstructured) {
			o.SetLabels(changed(o.GetLabels(), label, value))
			o.SetAnnotations(changed(o.GetAnnotations(), v1.AnnotationSeal, seal))
		})
	}
}

// setLabel sets a label like kubectl label; "" removes it.
func (c *Cluster) setLabel(at request.Location, label, value string) {
	c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.SetLabels(changed(o.GetLabels(), label, value)) })
}

// changed sets the value of a key; "" removes the key.
func changed(m map[string]string, key, value string) map[string]string {
	if m[key] = value; value == "" {
		delete(m, key)
	}
	return m
}
