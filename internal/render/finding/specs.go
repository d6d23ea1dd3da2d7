package finding

// The codes of specs that make no sense, wherever they are used.
const (
	APIVersion     Code = "TL020"
	Duration       Code = "TL021"
	Selector       Code = "TL022"
	Values         Code = "TL023"
	DependsOn      Code = "TL024"
	Cycle          Code = "TL025"
	ReadsFinal     Code = "TL026"
	UpdateStrategy Code = "TL027"
	WatchFields    Code = "TL028"
	ServiceAccount Code = "TL029"

	RelatedNamespaces Code = "TL050"
	RemovedField      Code = "TL065"
)

var ofSpecs = []Rule{
	{
		APIVersion, Error, "An apiVersion that is none",
		"A kind is named by its `apiVersion` and its `kind`.",
		"Write `group/version`, such as `apps/v1`, or the version alone for the core group, such as `v1`.",
	},
	{
		Duration, Error, "A duration that is none",
		"Durations are whole numbers, each with a unit: `h`, `m`, `s` or `ms`. There is a shortest one.",
		"Write one such as `90s` or `1h30m`. The message says what `0s` stands for.",
	},
	{
		Selector, Error, "A selector that is not valid",
		"A selector chooses objects by labels or fields. The API server would refuse to list objects by this one.",
		"Give keys and values that labels can have. The operators are `In`, `NotIn`, `Exists` and `DoesNotExist`, the last two without values. Field selectors are terms such as `metadata.name=x`, joined by commas.",
	},
	{
		Values, Error, "Values that templates cannot have",
		"`spec.values` is a mapping. Integers have 64 bits.",
		"Make it a mapping, and quote numbers that are too large.",
	},
	{
		DependsOn, Error, "A dependsOn that names no other entry",
		"An entry waits for other entries of its own list.",
		"Use the name of another entry of that list.",
	},
	{
		Cycle, Error, "Entries that wait for each other",
		"None of them would ever be made. An entry waits for those in its `dependsOn`, and for those that its template reads as `.children.NAME`.",
		"Read `.observed.NAME` in one of the templates, which does not wait, or remove a name from `dependsOn`.",
	},
	{
		ReadsFinal, Error, "A template that reads what is made at the end",
		"Objects of `spec.finalize.children` are made when the parent is being deleted. Before, there are none to read.",
		"Read them in the status template, or in one of `spec.finalize.children`.",
	},
	{
		UpdateStrategy, Error, "An updateStrategy that contradicts itself",
		"`rollingUpdate` says how many objects change at a time. Under `CreateOnly` and `OnDelete` none is changed.",
		"Set `type` to `Apply` or `Recreate`, or remove `rollingUpdate`. `maxUnavailable` is a number from 1 to 2000 or a percentage from 1% to 100%.",
	},
	{
		WatchFields, Error, "A path in watchFields that is none",
		"`watchFields` lists paths of fields. Only a change of one of these counts.",
		"Write paths such as `status.phase` or `metadata.labels['a.b/c']`, without wildcards and positions.",
	},
	{
		ServiceAccount, Error, "No ServiceAccount to work as",
		"This operator was started with `--require-service-account`: it lends its own rights to no TemplateController.",
		"Name a ServiceAccount in `spec.serviceAccountRef`: see [Security](../operate/security.md).",
	},
	{
		RelatedNamespaces, Error, "Too many namespaces of related objects",
		"Each name in the `namespaces` of an entry of `spec.related` takes a watch of its own. All entries together may have 128 names.",
		"Use `namespaceSelector`, which takes one watch, or divide the TemplateController.",
	},
	{
		RemovedField, Error, "A field that was removed",
		"The field existed in an earlier version of templater. It is refused instead of ignored, because its author relies on it. A value that changes nothing is a warning.",
		"The message says what to write instead. `kubectl apply` keeps a field that was set by a default: remove it with `kubectl patch --type=json`.",
	},
}

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
