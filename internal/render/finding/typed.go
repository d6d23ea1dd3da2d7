package finding

// The codes of internal/lint/typed, which checks the types of expressions.
const (
	UnknownField  Code = "TL030"
	NoFields      Code = "TL031"
	NoValue       Code = "TL032"
	Argument      Code = "TL033"
	Format        Code = "TL034"
	RangeOver     Code = "TL035"
	NotBoolean    Code = "TL036"
	NeverTrue     Code = "TL037"
	Order         Code = "TL038"
	Optional      Code = "TL039"
	UnusedHelper  Code = "TL044"
	UnusedValue   Code = "TL045"
	ReadyOfOthers Code = "TL051"
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
		NoValue, Error, "Value is always missing",
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
		"`default` takes the fallback first, and `join` takes the separator first. Functions such as `hasPrefix`, `trimSuffix`, `splitList` and `required` take the string that they work on last. With swapped arguments, the result is wrong. With one argument, `default` has no fallback.",
		"Swap the arguments, or add the missing one. A piped value is the last argument: `.spec.port | default 80`.",
	},
	{
		Optional, Warning, "Optional field without a fallback",
		"The schema does not require the field. For an object without it, rendering fails where it is printed or passed to a function. A condition in another template, or in another branch, does not help.",
		"Use `default`, `required`, `if` or `with`, or make the field required or set a default in the schema.",
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
		ReadyOfOthers, Warning, "readyWhen without .object",
		"`readyWhen` is evaluated for each object of the child template, which is `.object`. `.status` is the status of the parent, so the result is the same for all objects.",
		"Read the object, as in `eq .object.status.phase \"Bound\"`.",
	},
}
