package finding

// The codes of internal/reconcile/spec, which compiles specs.
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
	UnfitKind         Code = "TL061"
	RemovedField      Code = "TL065"
	SharedReady       Code = "TL067"
	TooMany           Code = "TL068"
	Rollout           Code = "TL069"
	CreateOnlyFields  Code = "TL058"
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
		"Use a duration such as `90s` or `1h30m`. The message explains what `0s` means.",
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
		"`rollingUpdate` limits how many objects are updated at a time. With `CreateOnly` and `OnDelete`, templater updates none. `onImmutable: Recreate` is for type `Apply`: the other types update no objects in place. `Recreate` excludes `adoption: IfConsented`, because it could delete adopted objects.",
		"Set `type` to `Apply` or `Recreate`, or remove `rollingUpdate` or `onImmutable`. `maxUnavailable` is a number from 1 to 2000 or a percentage from 1% to 100%.",
	},
	{
		WatchFields, Error, "Invalid path in watchFields",
		"Entries of `watchFields` must be field paths.",
		"Write paths such as `status.phase` or `metadata.labels['a.b/c']`, without wildcards and positions.",
	},
	{
		ServiceAccount, Error, "Missing serviceAccountRef",
		"Templater was started with `--require-service-account`: no TemplateController can use templater's own permissions.",
		"Name a ServiceAccount in `spec.serviceAccountRef`: see [Service accounts](../operate/service-accounts.md).",
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
	{
		UnfitKind, Error, "Unsupported kind",
		"Some settings are for custom kinds, for kinds with a status subresource, or for namespaced kinds only.",
		"Remove the setting, or change the CustomResourceDefinition, as the message says.",
	},
	{
		SharedReady, Warning, "Shared ready condition",
		"Two TemplateControllers write the same condition of the same parents. The first one to write it keeps it, and the parent does not show whether the other one is ready. Only certain cases are reported: a common namespace, with equal selectors or one without any.",
		"Set another `spec.status.readyCondition` in one of the two, or let them select different parents.",
	},
	{
		TooMany, Error, "Too many NamespacedTemplateControllers",
		"Only a limited number of NamespacedTemplateControllers run in a namespace, so that no tenant uses up what all share: see [Limits](limits.md#namespacedtemplatecontrollers). Older ones have precedence.",
		"Delete others in the namespace, or ask an administrator for a TemplateController.",
	},
	{
		Rollout, Error, "Invalid rollout",
		"A field of `spec.rollout`, or `spec.revisionHistoryLimit`, has an invalid value. Steps are cumulative: each is the total number of parents with the new revision.",
		"Follow the message. List steps in ascending order, as in `[1, 10%, 50%, 100%]`. See [Change a TemplateController safely](../how-to/change-safely.md).",
	},
	{
		CreateOnlyFields, Error, "Invalid createOnlyFields",
		"`createOnlyFields` lists paths of fields that belong to other clients after an object is created. Fields that identify the object, its status, and metadata other than single labels and annotations cannot be in it. A path that the schema does not have is only a warning.",
		"Write paths such as `spec.replicas` or `metadata.annotations['a.b/c']`, without positions in lists. List a list or an atomic mapping as a whole. See [Fields of other clients](../how-to/share-objects.md).",
	},
}
