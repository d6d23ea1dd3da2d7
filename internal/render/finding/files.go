package finding

// The codes of internal/lint itself: files, and kinds that do not exist or are not suitable.
const (
	WatchedKind Code = "TL060"
	Conditions  Code = "TL062"
	FieldValue  Code = "TL063"
	Definition  Code = "TL064"
	Unreadable  Code = "TL066"
	Suppression Code = "TL070"
)

var ofFiles = []Rule{
	{
		FieldValue, Error, "Invalid field value",
		"The API server rejects such a TemplateController. [API reference](api.md) lists the valid values of each field.",
		"Follow the message.",
	},
	{
		Definition, Error, "Invalid CustomResourceDefinition",
		"A CustomResourceDefinition in a file or in `spec.crd` is invalid. The API server rejects it, and templates cannot be checked against it.",
		"Follow the message. The TemplateControllers in the same files are still checked.",
	},
	{
		Unreadable, Error, "Unreadable file or document",
		"The text is not YAML, not a Kubernetes object, or a TemplateController with an unknown field or a field of the wrong type. The API server rejects it. Nothing else in that document is checked.",
		"Correct the place that the message names. Other files, and other documents in the file, are still checked. `templater lint` exits with 2.",
	},
	{
		WatchedKind, Error, "Unknown kind",
		"Neither Kubernetes nor a given CustomResourceDefinition defines this kind in this version. Nothing would be watched. It is only a warning if no schema of its group is known and a kind with a similar name exists.",
		"Correct `apiVersion` and `kind`. The built-in kinds are those of the newest Kubernetes release that this version of templater supports.",
	},
	{
		Suppression, Warning, "Useless suppression",
		"A comment `# templater:ignore CODE REASON` suppresses nothing, or has no reason. It could hide a mistake later. Errors cannot be suppressed.",
		"Remove the comment, or write the reason. Unused suppressions are only reported if all schemas are known and there are no errors.",
	},
	{
		Conditions, Warning, ".status.conditions is not a list of type map",
		"templater writes a ready condition to each parent. If the schema of the status does not declare `.status.conditions` as a list of type map with the key `type`, templater writes none, so that other owners do not lose their conditions.",
		"Declare `.status.conditions` in the CustomResourceDefinition as the message says, or set `spec.status.readyCondition` to `\"\"`.",
	},
}
