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
		APIVersion, Error, "Invalid apiVersion",
		"A kind is identified by `apiVersion` and `kind`.",
		"Write `group/version`, such as `apps/v1`, or the version alone for the core group, such as `v1`.",
	},
	{
		Duration, Error, "Invalid duration",
		"Durations are whole numbers, each with a unit: `h`, `m`, `s` or `ms`. Each field has a minimum.",
		"Write one such as `90s` or `1h30m`. The message says what `0s` stands for.",
	},
	{
		Selector, Error, "Invalid selector",
		"The API server would reject a list request with this label or field selector.",
		"Use valid label keys and values. Operators are `In`, `NotIn`, `Exists` and `DoesNotExist`, the last two without values. Field selectors are terms such as `metadata.name=x`, joined by commas.",
	},
	{
		Values, Error, "Invalid spec.values",
		"`spec.values` must be a mapping, and its integers must fit in 64 bits.",
		"Make it a mapping, and quote numbers that are too large.",
	},
	{
		DependsOn, Error, "Unknown name in dependsOn",
		"A child template can only depend on other child templates of the same list.",
		"Use the name of another child template of that list.",
	},
	{
		Cycle, Error, "Dependency cycle",
		"None of the child templates in the cycle would ever be applied. A child template depends on those in its `dependsOn`, and on those that its template reads as `.children.NAME`.",
		"In one of the templates, read `.observed.NAME`, which does not wait, or remove a name from `dependsOn`.",
	},
	{
		ReadsFinal, Error, "Reading spec.finalize.children too early",
		"Objects of `spec.finalize.children` are only created when the parent is deleted.",
		"Read them in the status template or in `spec.finalize.children`.",
	},
	{
		UpdateStrategy, Error, "Contradictory updateStrategy",
		"`rollingUpdate` limits how many objects are updated at a time. With `CreateOnly` and `OnDelete`, templater updates none.",
		"Set `type` to `Apply` or `Recreate`, or remove `rollingUpdate`. `maxUnavailable` is a number from 1 to 2000 or a percentage from 1% to 100%.",
	},
	{
		WatchFields, Error, "Invalid path in watchFields",
		"Entries of `watchFields` must be field paths.",
		"Write paths such as `status.phase` or `metadata.labels['a.b/c']`, without wildcards and positions.",
	},
	{
		ServiceAccount, Error, "Missing serviceAccountRef",
		"This operator was started with `--require-service-account`: no TemplateController can use the permissions of the operator.",
		"Name a ServiceAccount in `spec.serviceAccountRef`: see [Security](../operate/security.md).",
	},
	{
		RelatedNamespaces, Error, "Too many namespaces in spec.related",
		"Each name in `namespaces` of an entry of `spec.related` needs its own watch. All entries together can have at most 128 names.",
		"Use `namespaceSelector`, which needs a single watch, or split the TemplateController.",
	},
	{
		RemovedField, Error, "Removed field",
		"The field existed in an earlier version of templater. It is rejected instead of ignored, because its author relies on it. A value without effect is a warning.",
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
		FieldValue, Error, "Invalid field value",
		"The API server rejects such a TemplateController. [API reference](api.md) lists the valid values of each field.",
		"Follow the message.",
	},
	{
		Definition, Error, "Invalid CustomResourceDefinition",
		"Templates cannot be checked against a kind whose CustomResourceDefinition is invalid.",
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
		UnfitKind, Error, "Unsupported kind",
		"Some settings are for custom kinds, for kinds with a status subresource, or for namespaced kinds only.",
		"Remove the setting, or change the CustomResourceDefinition, as the message says.",
	},
	{
		Conditions, Warning, "No map list .status.conditions",
		"templater writes a ready condition to each parent. If the schema of the status has no map list `.status.conditions`, templater writes none, so that other owners do not lose their conditions.",
		"Declare `.status.conditions` in the CustomResourceDefinition as the message says, or set `spec.status.readyCondition` to `\"\"`.",
	},
	{
		SharedReady, Warning, "Shared ready condition",
		"Two TemplateControllers write the same condition of the same parents. The first one to write it keeps it, and the parent does not show whether the other one is ready. Only certain cases are reported: equal selectors, or one without any.",
		"Set another `spec.status.readyCondition` in one of the two, or let them select different parents.",
	},
}
