// Package admission answers when the API server asks whether a TemplateController may be written: it refuses what the operator would
// not accept, and warns of the rest. It only ever helps: where it cannot answer, the write goes through, and the operator says the same
// in the conditions of the TemplateController.
package admission
