// Package schema has the JSON schema of TemplateControllers, which is made of the CustomResourceDefinition.
package schema

import _ "embed" // of the schema

// TemplateController is the schema of a TemplateController without its status, in version v1 of the API.
//
//go:embed templatecontroller_v1.json
var TemplateController []byte
