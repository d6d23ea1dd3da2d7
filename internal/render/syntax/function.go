package syntax

import "fmt"

// Function describes a function that templates may call, or may not.
type Function struct {
	Name string
	// Source says where the name comes from: "text/template", "sprig",
	// "helm" or "templater".
	Source string
	// Doc says what it yields, in one line.
	Doc string
	// Nil tells whether its arguments may be missing.
	Nil bool
	// Rendered says what happens to text from include, toYaml, toJson and
	// quote among its arguments.
	Rendered Treatment
	// Min and Max are how many arguments it takes. A negative Max means any number.
	Min, Max int
	// Refused says why it may not be called and what to use instead; ""
	// means that it may.
	Refused string
}

// Treatment says what a function does with rendered text.
type Treatment string

const (
	// Expands means that the function sees the characters that the text
	// stands for, and that what it yields is plain.
	Expands Treatment = "expands"
	// Keeps means that the function's result is rendered text, too.
	Keeps Treatment = "keeps"
	// Passes means that the function hands its arguments on as they are.
	Passes Treatment = "passes"
	// Parses means that the function reads the text as YAML or JSON, and
	// restores values only then.
	Parses Treatment = "parses"
)

// Arity returns an error unless the function takes that many arguments.
func (f *Function) Arity(n int) error {
	switch {
	case n >= f.Min && (f.Max < 0 || n <= f.Max):
		return nil
	case f.Max < 0:
		return fmt.Errorf("%s needs at least %s, not %d", f.Name, arguments(f.Min), n)
	case f.Min == f.Max:
		return fmt.Errorf("%s needs %s, not %d", f.Name, arguments(f.Min), n)
	}
	return fmt.Errorf("%s needs %d to %s, not %d", f.Name, f.Min, arguments(f.Max), n)
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}
