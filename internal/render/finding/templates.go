package finding

// The codes of templates that are bound to fail, whatever their data.
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
		Syntax, Error, "A template that does not parse",
		"The text between two delimiters is no action of the template language, so that nothing can be rendered.",
		"Look at the line that is named, and at the ones before it: often a delimiter is missing. [Templates](templates.md) tells what actions look like.",
	},
	{
		UnclosedBlock, Error, "A block without an end",
		"Each `if`, `with`, `range` and `define` needs an `{{ end }}` of its own.",
		"Write `{{ end }}` where the block is to end. The place that is named is where it begins.",
	},
	{
		UnknownFunction, Error, "A function that is not there",
		"Templates can call the functions that [Templates](templates.md#all-functions) lists, and no others.",
		"Write the name as it is in that list. What Helm or sprig have and templater has not is told of at [TL004](#tl004).",
	},
	{
		RefusedFunction, Error, "A function that templates may not call",
		"Some functions of Helm and sprig read the clock, the network or chance. The same parent would yield other children in each pass.",
		"The message says what to use in its place.",
	},
	{
		ArgumentCount, Error, "A wrong number of arguments",
		"A function takes a fixed number of arguments, or a number within bounds. What comes by a pipe is the last one.",
		"Count the arguments, the one that comes by the pipe too, and compare with [Templates](templates.md#all-functions).",
	},
	{
		UnknownRoot, Error, "A name that templates do not see",
		"At the top of what a template sees there are only a few names, such as `.spec` and `.metadata`. Below `.children`, `.observed` and `.related` there are only the names of entries.",
		"Use one of the names that the message lists. In `range`, `with` and `define` the dot is another one: `$.spec` begins at the top.",
	},
	{
		UnknownDefinition, Error, "No define block of that name",
		"`include` and `template` call a `define` block of the same template or of `spec.helpers`. Helpers call helpers only.",
		"Correct the name, or add `{{ define \"NAME\" }}…{{ end }}` to `spec.helpers`.",
	},
	{
		SecondDefinition, Error, "A define block that is in helpers already",
		"It would not be clear which of the two is called.",
		"Give one of the two another name.",
	},
	{
		TextInHelpers, Error, "Text between the define blocks of helpers",
		"Only the `define` blocks of `spec.helpers` are ever called. All else there would be without effect.",
		"Put the text into a `define` block, or into the template that needs it.",
	},
	{
		DiscardedCopy, Error, "A changed copy that is thrown away",
		"Values never change in templates. Functions such as `set` and `merge` yield a changed copy, other than in sprig.",
		"Keep what the function yields: `{{ $x = set $x \"key\" 1 }}`.",
	},
	{
		NotAFunction, Error, "Arguments for something that is no function",
		"Fields, variables and numbers take no arguments. `nil` by itself is no command.",
		"Put a function in front, such as `index` or `printf`, or remove what follows.",
	},
	{
		NumberTooLarge, Error, "A number that does not fit",
		"Integers have 64 bits. Complex numbers are not there.",
		"Write a smaller number, or quote it to make it a string.",
	},
	{
		TooMuch, Error, "A template that is too long, or nested too deep",
		"What is parsed is bounded, so that no template can exhaust the operator: see [Limits](limits.md). What all templates hold together is bounded, too, and so is `spec.values`.",
		"Divide the template into several entries of `spec.children`, or move parts of it to `spec.helpers`. If it is all templates together, or `spec.values`, divide the TemplateController into several.",
	},
	{
		Delimiters, Error, "Delimiters that are the same",
		"The end of an action could not be told from its beginning.",
		"Give two different ones in `spec.delimiters`.",
	},
	{
		NoExpression, Error, "A readyWhen that is no expression",
		"`readyWhen` is what would stand between the delimiters of one action. It is not a template.",
		"Write an expression without delimiters, such as `eq .object.status.phase \"Bound\"`.",
	},
	{
		SecondName, Error, "Two entries of one name",
		"Templates and labels tell the objects of entries apart by the names of these.",
		"Rename one of the two.",
	},
	{
		NoLogs, Error, "Logs that nobody reads",
		"The function `logs` yields the logs of Pods that an entry of `spec.related` shows, where that entry has `logs`. There is no such entry.",
		"Give the entry that the Pod is from `logs: {}`.",
	},
	{
		NotShown, Warning, "More findings than are shown",
		"Templater stops after a number of findings in one TemplateController, so that no TemplateController keeps it busy: see [Limits](limits.md).",
		"Fix the findings that are shown, and check again.",
	},
}
