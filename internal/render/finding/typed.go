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
		UnknownField, Error, "A field that is not there",
		"The schema of the kind, `spec.values` or a `dict` has no field of that name, so it is always missing. Printing a missing value, and giving it to most functions, stops rendering. Elsewhere, such as in `if` and `default`, this is a warning. `default`, `coalesce` and `hasKey` may name a key that `spec.values` does not have, since an overlay may add it.",
		"Use the name or the place that the message tells. If the field is right, the schema is not: add it to the CustomResourceDefinition.",
	},
	{
		NoFields, Error, "A field of a list or of a single value",
		"Only maps have fields. A list has items, and texts, numbers and booleans have nothing in them.",
		"Look into the items of a list with `range`, `first`, `index` or `where`. In `range`, `with` and `define` the dot is another one: `$.spec` begins at the top.",
	},
	{
		NoValue, Error, "A value that is always missing",
		"What is printed, or given to a function, must be there. This never is, whatever the data.",
		"Give it a value, or use `default`, `required` or `if`.",
	},
	{
		Argument, Error, "An argument of the wrong kind",
		"Functions take text, numbers, lists or maps, and stop rendering where they get something else. Often two arguments are swapped.",
		"Look at the order of the arguments in [Templates](templates.md). `toString`, `int`, `toJson`, `list` and `keys` make one kind of another.",
	},
	{
		Format, Error, "A format that does not fit its arguments",
		"Each directive of `printf` takes one argument of a kind: `%d` a number, `%s` a text, `%t` a boolean, `%v` any of them.",
		"Write one directive for each argument.",
	},
	{
		RangeOver, Error, "A range over what has no items",
		"`range` takes a list, a map or a whole number. With a number there is one variable.",
		"Use `until`, `list`, `splitList` or `int` to make something of it that has items.",
	},
	{
		NotBoolean, Error, "A readyWhen that is neither true nor false",
		"`readyWhen` decides whether an object is ready. An object for which it yields anything else is in error.",
		"Compare the value, such as in `eq .object.status.phase \"Bound\"`.",
	},
	{
		NeverTrue, Warning, "A comparison that is never true",
		"The schema lists what the field can be, and this is not among it, or the two sides are of different kinds.",
		"Use one of the values that the message tells.",
	},
	{
		Order, Warning, "Arguments in the wrong order",
		"`default` takes what it falls back to first, and `join` its separator. The other way round the result does not depend on the data. With one argument, `default` has nothing to fall back to.",
		"Swap the arguments, or give the one that is missing. The value that a pipe hands on is the last one: `.spec.port | default 80`.",
	},
	{
		Optional, Warning, "An optional field without a fallback",
		"The schema does not require the field. For an object without it, rendering stops where it is printed or given to a function.",
		"Use `default`, `required`, `if` or `with`, or make the field required, or give it a default, in the schema.",
	},
	{
		Pruned, Warning, "A field of the status that the schema lacks",
		"The API server drops fields that the CustomResourceDefinition does not have, so nobody ever sees what the status template writes there.",
		"Add the field to the schema of the status, or correct its name.",
	},
	{
		ChildField, Warning, "A field that the kind of a child lacks",
		"The API server drops such a field, or refuses the object. Either way the child is not what the template says.",
		"Correct the name or the indentation: often the field belongs one level further in or out.",
	},
	{
		FieldType, Warning, "A value that the kind of a child does not take",
		"The schema of the kind says what a field can be. The API server refuses objects that have something else there.",
		"Write what the message tells. Quotes make a text of a number: leave them out, or put them in. What is put together of actions and text, such as `{{ .spec.replicas }}0`, is text: compute numbers with `add` and `mul`.",
	},
	{
		UnknownKind, Warning, "A kind that is not there",
		"No schema defines the kind, so that the child cannot be made.",
		"Correct `apiVersion` and `kind`, or add the CustomResourceDefinition that defines it.",
	},
	{
		UnusedHelper, Warning, "A define block that nobody calls",
		"It has no effect. Often the name in an `include` is another one than meant.",
		"Remove it from `spec.helpers`, or call it with `include`.",
	},
	{
		UnusedValue, Warning, "A value that nobody reads",
		"Who sets it, such as in a kustomize overlay, changes nothing.",
		"Remove it from `spec.values`, or read it in a template as `.values.NAME`.",
	},
	{
		TemporaryJob, Warning, "A Job that is made anew each time it goes",
		"With `ttlSecondsAfterFinished` the cluster deletes a Job that has finished. Its template yields it still, so templater makes it again, and it runs again.",
		"Leave the field out. The Job goes with its parent, or when its template does not yield it any more.",
	},
	{
		EndlessStatus, Warning, "A status that changes with each pass",
		"A change of the status is looked at like any other. A field that counts on from its own last value, or grows, has the parent looked at without an end. Templater slows such parents down.",
		"Compute the field from `.spec`, `.observed` or `.related`. If it must count, count under a condition that its own change ends.",
	},
	{
		ChildPlace, Warning, "A child where it cannot be",
		"An owner reference ties a child to its parent. It can lead from a namespaced object to one of the same namespace, or to a cluster-scoped one, and no other way.",
		"Set `scope: Cluster` in the entry, write `metadata.namespace`, or watch another kind, as the message says: see [Children in other namespaces](../how-to/other-namespaces.md).",
	},
	{
		SelectKey, Warning, "A select that selects nothing, or makes no sense",
		"A select template yields mappings with the keys `name`, `namespace`, `allNamespaces` and `labelSelector`. With any other key, the parent is in error. It can select only what is watched.",
		"Labels belong below `labelSelector.matchLabels`. See [Related objects](../concepts/related.md#say-which-objects).",
	},
	{
		ReadyOfOthers, Warning, "A readyWhen that does not look at the object",
		"`readyWhen` is asked for each object of the entry, which is `.object`. `.status` and the like are those of the parent, so that the answer is the same for all objects.",
		"Read the object, such as in `eq .object.status.phase \"Bound\"`.",
	},
	{
		PlainText, Warning, "Text without quotes that means different things",
		"Versions of YAML read words such as `yes`, and numbers such as `0400`, in different ways. Templater refuses them where it gets to them.",
		"Put text in quotes. Write `true`, `false` or a decimal number for anything else.",
	},
	{
		NoObject, Error, "A document that is no object of a template",
		"Each document needs `apiVersion`, `kind` and `metadata.name`. Which kinds there are must be known before anything is rendered, and some fields are for the API server, or for templater, to set. Templater refuses any other document. A value, list or mapping in place of `apiVersion`, `kind` or `metadata.name` is an error if the document is always rendered. The rest are warnings.",
		"Add, write out or remove the field, as the message says. What `kubectl get -o yaml` prints has fields that do not belong into a template.",
	},
	{
		NoYAML, Error, "Text that is no YAML",
		"The output of a template is parsed as YAML. This text is not YAML, whatever values the actions print. Lint checks a template up to its first branch, loop or action that prints several lines; rendering reports the rest. `toJson` between double quotes is a warning.",
		"The place is where to look first: often at the indentation, at a colon, or at quotes that are missing. In parentheses are the words of the YAML parser.",
	},
	{
		SameObject, Warning, "Two templates that yield the same object",
		"Two documents have the same kind, namespace and name, whatever the parent. Nobody can tell which one is meant, so templater applies neither of them, and the parent is not ready.",
		"Give each object its own name, such as `{{ .metadata.name }}-config`. If one of two objects is wanted, choose in one template, with `if`.",
	},
	{
		OwnCondition, Warning, "A condition that templater writes itself",
		"Templater says in the ready condition of each parent whether it is ready. A status template that yields a condition of that type is in error, and the status is not written.",
		"Leave the condition out: templater writes it. For one of your own, set `spec.status.readyCondition` to another type, or to `\"\"` for none. `readyWhen` in an entry says when its objects are ready.",
	},
	{
		ChildIsParent, Warning, "A child that is also a parent",
		"The child is of the kind that the TemplateController watches, and matches its selectors. So it gets a child of its own, and so on, until templater reaches its limit of depth: see [Limits](limits.md).",
		"Give `watch.labelSelector` a label that the parents have and the children do not. If you want the chain, end it with an `if` in the template.",
	},
}
