package finding

// The codes of what the types of values tell of templates.
const (
	UnknownField Code = "TL030"
	NoFields     Code = "TL031"
	NoValue      Code = "TL032"
	Argument     Code = "TL033"
	Format       Code = "TL034"
	RangeOver    Code = "TL035"
	NotBoolean   Code = "TL036"
	NeverTrue    Code = "TL037"
	Order        Code = "TL038"
	Optional     Code = "TL039"
	Pruned       Code = "TL040"
	ChildField   Code = "TL041"
	FieldType    Code = "TL042"
	UnknownKind  Code = "TL043"

	UnusedHelper  Code = "TL044"
	UnusedValue   Code = "TL045"
	TemporaryJob  Code = "TL046"
	EndlessStatus Code = "TL047"
	ChildPlace    Code = "TL048"
	SelectKey     Code = "TL049"
	ReadyOfOthers Code = "TL051"
	PlainText     Code = "TL052"
	NoObject      Code = "TL053"
	NoYAML        Code = "TL054"
	SameObject    Code = "TL055"
	OwnCondition  Code = "TL056"
	ChildIsParent Code = "TL057"
)

var ofTypes = []Rule{
	{
		UnknownField, Error, "Unknown field",
		"The schema of the kind, `spec.values` or a `dict` has no field of that name, so it is always missing. Rendering fails if a missing value is printed or passed to most functions. Elsewhere, such as in `if` and `default`, this is a warning. `default`, `coalesce` and `hasKey` can name a key that `spec.values` does not have, since an overlay can add it.",
		"Correct the name or the path as the message suggests. If the field is correct, add it to the CustomResourceDefinition.",
	},
	{
		NoFields, Error, "Field of a list or scalar",
		"Only maps have fields. A list has items, and strings, numbers and booleans have neither.",
		"Access the items of a list with `range`, `first`, `index` or `where`. In `range`, `with` and `define` the dot is rebound: `$.spec` starts at the root.",
	},
	{
		NoValue, Error, "Always missing value",
		"A value that is printed or passed to a function must exist. This one never does, for any parent.",
		"Set a value, or use `default`, `required` or `if`.",
	},
	{
		Argument, Error, "Wrong argument type",
		"Functions take strings, numbers, lists or maps, and rendering fails if they get another type. Often two arguments are swapped.",
		"Check the order of the arguments in [Templates](templates.md). `toString`, `int`, `toJson`, `list` and `keys` convert values.",
	},
	{
		Format, Error, "Mismatched printf format",
		"Each verb of `printf` takes one argument of a type: `%d` a number, `%s` a string, `%t` a boolean, `%v` any of them.",
		"Write one verb for each argument.",
	},
	{
		RangeOver, Error, "Range over a value without items",
		"`range` takes a list, a map or a whole number. With a number there is one variable.",
		"Use `until`, `list`, `splitList` or `int` to convert it.",
	},
	{
		NotBoolean, Error, "Not a boolean",
		"`readyWhen` and `watch.filter` must return true or false. Any other result is an error.",
		"Compare the value, as in `eq .object.status.phase \"Bound\"`.",
	},
	{
		NeverTrue, Warning, "Comparison that is never true",
		"The schema lists the allowed values of the field, and this one is not in the list, or the two sides have different types.",
		"Use one of the values in the message.",
	},
	{
		Order, Warning, "Swapped arguments",
		"`default` takes the fallback first, and `join` takes the separator first. With swapped arguments, the result does not depend on the data. With one argument, `default` has no fallback.",
		"Swap the arguments, or add the missing one. A piped value is the last argument: `.spec.port | default 80`.",
	},
	{
		Optional, Warning, "Optional field without a fallback",
		"The schema does not require the field. For an object without it, rendering fails where it is printed or passed to a function.",
		"Use `default`, `required`, `if` or `with`, or make the field required or set a default in the schema.",
	},
	{
		Pruned, Warning, "Unknown status field",
		"The API server prunes fields that the CustomResourceDefinition does not define, so the value never appears in the status.",
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
		"Follow the message. A quoted number is a string: remove the quotes, or add them. A combination of actions and text, such as `{{ .spec.replicas }}0`, is a string: compute numbers with `add` and `mul`.",
	},
	{
		UnknownKind, Warning, "Unknown kind",
		"No schema defines the kind, so the child cannot be created.",
		"Correct `apiVersion` and `kind`, or add the CustomResourceDefinition that defines it.",
	},
	{
		UnusedHelper, Warning, "Unused define block",
		"It has no effect. Often the name in an `include` is misspelled.",
		"Remove it from `spec.helpers`, or call it with `include`.",
	},
	{
		UnusedValue, Warning, "Unused value",
		"Setting it, for example in a kustomize overlay, has no effect.",
		"Remove it from `spec.values`, or read it in a template as `.values.NAME`.",
	},
	{
		TemporaryJob, Warning, "Job that is recreated again and again",
		"With `ttlSecondsAfterFinished`, the cluster deletes a Job that has finished. The template still renders it, so templater creates it again, and it runs again.",
		"Remove the field. The Job is deleted with its parent, or when the template no longer renders it.",
	},
	{
		EndlessStatus, Warning, "Status that changes in each reconciliation",
		"A change of the status triggers a reconciliation. A field that is computed from its own last value, such as a counter, triggers reconciliations without end. Templater backs off from such parents.",
		"Compute the field from `.spec`, `.observed` or `.related`. If it must count, count under a condition that its own change ends.",
	},
	{
		ChildPlace, Warning, "Child in the wrong scope or namespace",
		"Children have an owner reference to their parent. A namespaced object can only be owned by an object of the same namespace, or by a cluster-scoped one. A cluster-scoped object can only be owned by a cluster-scoped one.",
		"Set `scope: Cluster` in the entry, set `metadata.namespace`, or watch another kind, as the message says: see [Children in other namespaces](../how-to/other-namespaces.md).",
	},
	{
		SelectKey, Warning, "Invalid select",
		"A select template renders mappings with the keys `name`, `namespace`, `allNamespaces` and `labelSelector`. Any other key is an error. It can only select watched objects.",
		"Put labels below `labelSelector.matchLabels`. See [Related objects](../concepts/related.md#say-which-objects).",
	},
	{
		ReadyOfOthers, Warning, "readyWhen without .object",
		"`readyWhen` is evaluated for each object of the entry, which is `.object`. `.status` is the status of the parent, so the result is the same for all objects.",
		"Read the object, as in `eq .object.status.phase \"Bound\"`.",
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
		"The output of a template is parsed as YAML. This text is not valid YAML, whatever values the actions print. Lint checks a template up to its first branch, loop or action that prints several lines; rendering reports the rest. `toJson` between double quotes is a warning.",
		"Check the indentation, colons and quotes near the reported position. The message of the YAML parser is in parentheses.",
	},
	{
		SameObject, Warning, "Duplicate object",
		"Two documents have the same kind, namespace and name, whatever the parent. Templater applies neither of them, and the parent is not ready.",
		"Give each object its own name, such as `{{ .metadata.name }}-config`. To create one of two alternatives, use `if` in one template.",
	},
	{
		OwnCondition, Warning, "Reserved condition",
		"Templater writes the ready condition of each parent. A status template that renders a condition of that type is an error, and the status is not written.",
		"Remove the condition. To write your own, set `spec.status.readyCondition` to another type, or to `\"\"` for none. `readyWhen` in an entry defines when its objects are ready.",
	},
	{
		ChildIsParent, Warning, "Child that is also a parent",
		"The child is of the kind that the TemplateController watches, and matches its selectors. It gets a child of its own, and so on, until the depth limit is reached: see [Limits](limits.md).",
		"Set `watch.labelSelector` to a label that the parents have and the children do not. If the chain is intended, end it with an `if` in the template.",
	},
}
