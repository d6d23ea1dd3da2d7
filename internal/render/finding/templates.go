package finding

// The codes of internal/render/syntax: templates that always fail, whatever their data.
const (
	Syntax            Code = "TL001"
	UnclosedBlock     Code = "TL002"
	UnknownFunction   Code = "TL003"
	RefusedFunction   Code = "TL004"
	ArgumentCount     Code = "TL005"
	UnknownRoot       Code = "TL006"
	UnknownDefinition Code = "TL007"
	SecondDefinition  Code = "TL008"
	TextInHelpers     Code = "TL009"
	DiscardedCopy     Code = "TL010"
	NotAFunction      Code = "TL011"
	NumberTooLarge    Code = "TL012"
	TooMuch           Code = "TL013"
	Delimiters        Code = "TL014"
	NoExpression      Code = "TL015"
	SecondName        Code = "TL016"
	NoLogs            Code = "TL017"
	NotShown          Code = "TL018"
)

var ofTemplates = []Rule{
	{
		Syntax, Error, "Template syntax error",
		"The text between the delimiters is not a valid action, so the template cannot be rendered.",
		"Check the reported line and the lines before it: often a delimiter is missing. [Templates](templates.md) describes the syntax of actions.",
	},
	{
		UnclosedBlock, Error, "Missing end",
		"Each `if`, `with`, `range` and `define` needs its own `{{ end }}`.",
		"Add `{{ end }}` where the block should end. The message shows where the block begins.",
	},
	{
		UnknownFunction, Error, "Unknown function",
		"Templates can only call the functions listed in [Templates](templates.md#all-functions).",
		"Correct the name. For functions of Helm and sprig that templater does not support, see [TL004](#tl004).",
	},
	{
		RefusedFunction, Error, "Unsupported function",
		"Some functions of Helm and sprig depend on the clock, the network or random numbers. The same parent would get different children in each reconciliation.",
		"The message names an alternative.",
	},
	{
		ArgumentCount, Error, "Wrong number of arguments",
		"A function takes a fixed number of arguments, or a number within a range. A piped value is the last argument.",
		"Count the arguments, including the piped value, and compare with [Templates](templates.md#all-functions).",
	},
	{
		UnknownRoot, Error, "Unknown name",
		"The root context of a template has a few names only, such as `.spec` and `.metadata`. `.children` and `.observed` have only the names of child templates, and `.related` those of `spec.related`.",
		"Use one of the names in the message. In `range`, `with` and `define` the dot is rebound: `$.spec` starts at the root.",
	},
	{
		UnknownDefinition, Error, "Unknown define block",
		"`include` and `template` call a `define` block of the same template or of `spec.helpers`. Helpers can only call other helpers.",
		"Correct the name, or add `{{ define \"NAME\" }}…{{ end }}` to `spec.helpers`.",
	},
	{
		SecondDefinition, Error, "Duplicate define block",
		"`spec.helpers` already has a `define` block of that name, so it would not be clear which of the two is called.",
		"Rename one of the two.",
	},
	{
		TextInHelpers, Error, "Text outside of define blocks in helpers",
		"Only the `define` blocks of `spec.helpers` can be called. Any other text has no effect.",
		"Move the text into a `define` block, or into the template that needs it.",
	},
	{
		DiscardedCopy, Error, "Discarded result",
		"Values in templates are immutable. Unlike in sprig, functions such as `set` and `merge` return a changed copy.",
		"Assign the result: `{{ $x = set $x \"key\" 1 }}`.",
	},
	{
		NotAFunction, Error, "Arguments to a non-function",
		"Fields, variables and numbers take no arguments. `nil` is not a command.",
		"Put a function in front, such as `index` or `printf`, or remove the arguments.",
	},
	{
		NumberTooLarge, Error, "Number out of range",
		"Integers must fit in 64 bits. Complex numbers are not supported.",
		"Write a smaller number, or quote it to make it a string.",
	},
	{
		TooMuch, Error, "Template too large",
		"The size and depth of each template, of all templates together, and of `spec.values` are limited, so that no template can exhaust templater's memory: see [Limits](limits.md).",
		"Split the template into several child templates, or move parts of it to `spec.helpers`. If the message is about all templates together, or `spec.values`, split the TemplateController.",
	},
	{
		Delimiters, Error, "Equal delimiters",
		"The left and the right delimiter must differ.",
		"Set two different ones in `spec.delimiters`.",
	},
	{
		NoExpression, Error, "Invalid expression",
		"`readyWhen` is a single expression, like the content of an action. It is not a template.",
		"Write an expression without delimiters, such as `eq .object.status.phase \"Bound\"`.",
	},
	{
		SecondName, Error, "Duplicate name",
		"Templates and labels distinguish objects by this name.",
		"Rename one of the two.",
	},
	{
		NoLogs, Error, "logs without an entry of spec.related that sets logs",
		"The function `logs` returns the logs of Pods of an entry of `spec.related` that sets `logs`. There is no such entry.",
		"Set `logs: {}` in the entry that selects the Pod.",
	},
	{
		NotShown, Warning, "More findings",
		"Templater stops after a number of findings in one TemplateController: see [Limits](limits.md).",
		"Fix the findings that are shown, and check again.",
	},
}
