package finding

// The codes of internal/lint/outline, which checks the YAML that templates render.
const (
	Pruned        Code = "TL040"
	ChildField    Code = "TL041"
	FieldType     Code = "TL042"
	UnknownKind   Code = "TL043"
	TemporaryJob  Code = "TL046"
	EndlessStatus Code = "TL047"
	ChildPlace    Code = "TL048"
	SelectKey     Code = "TL049"
	PlainText     Code = "TL052"
	NoObject      Code = "TL053"
	NoYAML        Code = "TL054"
	SameObject    Code = "TL055"
	OwnCondition  Code = "TL056"
	ChildIsParent Code = "TL057"
	Autoscaled    Code = "TL059"
)

var ofOutlines = []Rule{
	{
		Pruned, Warning, "Unknown status field",
		"The API server rejects fields that the CustomResourceDefinition does not define, so templater omits the value and reports it in the ready condition.",
		"Add the field to the schema of the status, or correct its name.",
	},
	{
		ChildField, Warning, "Unknown field in a child",
		"The API server prunes such a field, or rejects the object. Either way, the child differs from the template.",
		"Correct the name or the indentation: often the field belongs one level deeper or higher.",
	},
	{
		FieldType, Warning, "Invalid value in a child",
		"The API server rejects objects with a value that the schema of the kind does not allow.",
		"Follow the message. A quoted number is a string: remove the quotes, or add them. `quote`, `toString` and `printf` print strings, too. A combination of actions and text, such as `{{ .spec.replicas }}0`, is a string: compute numbers with `add` and `mul`.",
	},
	{
		UnknownKind, Warning, "Unknown kind",
		"No schema defines the kind, so the child cannot be created.",
		"Correct `apiVersion` and `kind`, or add the CustomResourceDefinition that defines it.",
	},
	{
		TemporaryJob, Warning, "Job that is recreated again and again",
		"With `ttlSecondsAfterFinished`, the cluster deletes a Job that has finished. The template still renders it, so templater creates it again, and it runs again.",
		"Remove the field. The Job is deleted with its parent, or when the template no longer renders it.",
	},
	{
		EndlessStatus, Warning, "Status that changes in each reconciliation",
		"A change of the status triggers a reconciliation. A field that is computed from its own last value, such as a counter, triggers endless reconciliations. Templater reconciles such parents with backoff.",
		"Compute the field from `.spec`, `.observed` or `.related`. If it has to be a counter, increment it only under a condition that becomes false afterwards.",
	},
	{
		ChildPlace, Warning, "Child in the wrong scope or namespace",
		"Children have an owner reference to their parent. A namespaced object can only be owned by an object in the same namespace, or by a cluster-scoped one. A cluster-scoped object can only be owned by a cluster-scoped one.",
		"Set `scope: Cluster` in the child template, set `metadata.namespace`, or watch another kind, as the message says: see [Children in other namespaces](../how-to/other-namespaces.md).",
	},
	{
		SelectKey, Warning, "Invalid select",
		"A select template renders mappings with the keys `name`, `namespace`, `allNamespaces` and `labelSelector`. Any other key is an error. It can only select watched objects.",
		"Put labels below `labelSelector.matchLabels`. See [Related objects](../concepts/related.md#select-objects).",
	},
	{
		PlainText, Warning, "Ambiguous unquoted text",
		"YAML versions parse words such as `yes`, and numbers such as `0400`, differently. Templater rejects them when it renders them.",
		"Quote strings. Otherwise write `true`, `false` or a decimal number.",
	},
	{
		NoObject, Error, "Invalid object in a template",
		"Each document needs `apiVersion`, `kind` and `metadata.name`. The kind must be known before rendering, and some fields are set by the API server or by templater only. Templater rejects any other document. A value, list or mapping in place of `apiVersion`, `kind` or `metadata.name` is an error if the document is always rendered. The rest are warnings.",
		"Add, write out or remove the field, as the message says. The output of `kubectl get -o yaml` has fields that do not belong in a template.",
	},
	{
		NoYAML, Error, "Invalid YAML",
		"The output of a template is parsed as YAML. This text is not valid YAML, regardless of the values that actions print. Lint checks a template up to its first branch, loop or action that prints several lines; rendering reports the rest. It also finds duplicate keys, and loops that do not separate their objects by `---`. `toJson` between double quotes is a warning.",
		"Check the indentation, colons and quotes near the reported position. The message of the YAML parser is in parentheses.",
	},
	{
		SameObject, Warning, "Duplicate object",
		"Two documents have the same kind, namespace and name for every parent. Templater applies neither of them, and the parent is not ready.",
		"Give each object its own name, such as `{{ .metadata.name }}-config`. To create one of two alternatives, use `if` in one template.",
	},
	{
		OwnCondition, Warning, "Reserved condition",
		"Templater writes the ready condition of each parent. A status template that renders a condition of that type is an error, and the status is not written.",
		"Remove the condition. To write your own, set `spec.status.readyCondition` to another type, or to `\"\"` for none. `readyWhen` of a child template defines when its objects are ready.",
	},
	{
		ChildIsParent, Warning, "Child that is also a parent",
		"The child is of the kind that the TemplateController watches, and matches its selectors. It gets a child of its own, and so on, until the depth limit is reached: see [Limits](limits.md).",
		"Set `watch.labelSelector` to a label that the parents have and the children do not. If the chain is intended, end it with an `if` in the template.",
	},
	{
		Autoscaled, Warning, "Autoscaler and template both set replicas",
		"An autoscaler changes `spec.replicas` of an object that a template renders with `spec.replicas`. Templater reverts each change of the autoscaler.",
		"Add `createOnlyFields: [spec.replicas]` to the child template of the object, and keep `replicas` in the template: it is the number at the start. See [Fields of other clients](../how-to/share-objects.md).",
	},
}
