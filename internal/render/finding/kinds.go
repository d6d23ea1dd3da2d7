package finding

// The codes of kinds that do not fit, or that there are not.
const (
	WatchedKind Code = "TL060"
	UnfitKind   Code = "TL061"
	Conditions  Code = "TL062"
	FieldValue  Code = "TL063"
	Definition  Code = "TL064"
	Unreadable  Code = "TL066"
	SharedReady Code = "TL067"
)

var ofKinds = []Rule{
	{
		FieldValue, Error, "A field with something that it does not take",
		"The API server refuses such a TemplateController when it is applied. [API reference](api.md) says what each field takes.",
		"Write what the message tells.",
	},
	{
		Definition, Error, "A CustomResourceDefinition that the API server would not take",
		"Nothing can be told of a kind whose definition cannot be read, so no template that is about it is checked against its fields.",
		"Write what the message tells. The TemplateControllers in the same files are checked all the same.",
	},
	{
		Unreadable, Error, "A file or document that cannot be read",
		"The text is not YAML, not a Kubernetes object, or a TemplateController with an unknown field or a field of the wrong type. The API server refuses it. Nothing else in that document is checked.",
		"Correct the place that the message names. Other files, and other documents in the file, are still checked. `templater lint` exits with 2.",
	},
	{
		WatchedKind, Error, "A kind that is not there",
		"Neither Kubernetes nor a CustomResourceDefinition that is at hand has a kind of that name in that version. Nothing would be watched. It is a warning where a kind of a similar name is at hand, and nothing is known of this one.",
		"Correct `apiVersion` and `kind`. Kinds of Kubernetes itself are those of the newest release that this version of templater knows.",
	},
	{
		UnfitKind, Error, "A kind that cannot be used in this way",
		"Some settings are for custom kinds, for kinds with a status subresource, or for namespaced kinds only.",
		"Remove the setting, or change the CustomResourceDefinition, as the message says.",
	},
	{
		Conditions, Warning, "A kind whose status cannot hold conditions of several owners",
		"templater says in a condition of each parent whether it is ready. Where the schema of the status has no map list `.status.conditions`, it writes none, so that others do not lose theirs.",
		"Declare `.status.conditions` in the CustomResourceDefinition as the message says, or set `spec.status.readyCondition` to `\"\"`.",
	},
	{
		SharedReady, Warning, "Two TemplateControllers that write the same ready condition",
		"Both would write the same condition of the same parents. The first one to write it keeps it, and the parent does not show whether the other one is done. Only certain cases are reported: equal selectors, or one without any.",
		"Give one of the two another `spec.status.readyCondition`, or let them select different parents.",
	},
}
