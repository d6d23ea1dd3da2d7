package syntax

import (
	"fmt"
	"maps"
	"slices"
)

// Function describes a function that templates can call, or that is forbidden. It has many fields because it is a row of a table.
type Function struct {
	Name string
	// Same is the first name of this function.
	Same string
	// Source says where the name comes from: "text/template", "sprig",
	// "helm" or "templater".
	Source string
	// Doc describes the result in one line.
	Doc string
	// Nil reports whether its arguments may be missing.
	Nil bool
	// Rendered is what happens to rendered text (from include, toYaml, toJson and quote) among its arguments.
	Rendered Treatment
	// Min and Max are the minimum and maximum number of arguments. A negative Max means any number.
	Min, Max int
	// Takes are the types of its arguments, and More is the type of all further ones; 0 = there are none.
	Takes []Type
	More  Type
	// Yields is the type of its result, and Items is the type of the items of a resulting list or map; 0 = any type.
	Yields, Items Type
	// Traits are the properties that checks of templates use.
	Traits Trait
	// Refused says why the function is forbidden and what to use instead; "" = it is allowed.
	Refused string
}

// Treatment is what a function does with rendered text.
type Treatment string

const (
	// Expands means that the function sees the characters that the text stands for, and that its result is plain text.
	Expands Treatment = "expands"
	// Keeps means that the function's result is rendered text, too.
	Keeps Treatment = "keeps"
	// Passes means that the function returns its arguments unchanged.
	Passes Treatment = "passes"
	// Parses means that the function reads the text as YAML or JSON, and
	// restores values only then.
	Parses Treatment = "parses"
)

// Type is the type of an argument or result of a function, as a letter. An uppercase letter means that the argument may be missing.
type Type byte

// The types. In results, the letter of a list or map may be followed by the letter of its items.
const (
	TypeAny       Type = 'a'
	TypeText      Type = 't' // a string, a number or a boolean
	TypeWhole     Type = 'i' // an integer, or text that is one
	TypeNumber    Type = 'n' // a number, or text that is one
	TypeFloat     Type = 'f' // a result with a fraction
	TypeBoolean   Type = 'b'
	TypeList      Type = 'l'
	TypeMap       Type = 'm'
	TypeSequence  Type = 's' // a list or a string
	TypeContainer Type = 'c' // a list, a map or a string
	TypeOrdered   Type = 'o' // a number or a string
)

// Nil reports whether an argument of the type may be missing.
func (t Type) Nil() bool { return t >= 'A' && t <= 'Z' }

// Trait is a property of a function that checks of templates use.
type Trait int

// The traits.
const (
	// Computes means that the result differs from the arguments.
	Computes Trait = 1 << iota
	// Appends means that the result is the list with one more item.
	Appends
	// Asks means that it tests whether a value exists.
	Asks
	// FallsBack means that it uses another value if the first one is missing.
	FallsBack
	// Encodes means that it encodes a value as YAML or JSON.
	Encodes
	// ManyLines means that its result may be several lines of YAML.
	ManyLines
	// WhiteSpace means that it only changes the white space of a text.
	WhiteSpace
	// Quotes means that it puts quotes around text.
	Quotes
)

// Is reports whether the function has a trait. A nil Function has none.
func (f *Function) Is(t Trait) bool { return f != nil && f.Traits&t != 0 }

// Typed sets the types and the number of arguments. takes has a letter for each argument, followed by ? if it is optional, * if it can be
// repeated any number of times, and + if it is required and can be repeated. yields has the letter of the result, and
// may have that of its items.
func (f *Function) Typed(takes, yields string) {
	for _, c := range []byte(takes) {
		switch c {
		case '?':
			f.Min--
		case '*':
			f.Min, f.More = f.Min-1, f.Takes[len(f.Takes)-1]
		case '+':
			f.More = f.Takes[len(f.Takes)-1]
		default:
			f.Takes, f.Min = append(f.Takes, Type(c)), f.Min+1
			f.Nil = f.Nil || Type(c).Nil()
		}
	}
	if f.Max = len(f.Takes); f.More != 0 {
		f.Max = -1
	}
	f.Yields = Type(yields[0])
	if len(yields) > 1 {
		f.Items = Type(yields[1])
	}
}

// Arity returns an error unless the function accepts this number of arguments.
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

// refused are the forbidden functions by name.
var refused = map[string]Function{}

// Refused returns the forbidden functions, in no particular order.
func Refused() []Function { return slices.Collect(maps.Values(refused)) }

// refuse registers functions that are forbidden for the same reason.
func refuse(source, why string, names ...string) {
	for _, name := range names {
		refused[name] = Function{Name: name, Source: source, Refused: why}
	}
}

func init() {
	refuse("sprig", "it reads the clock, so its output would change between two reconciliations of the same input; "+
		"use a time from the parent, such as .metadata.creationTimestamp, and after to wait for a moment",
		"now", "ago")
	refuse("sprig", "it depends on the time zones that templater's image knows; use date and htmlDate, which are in UTC",
		"dateInZone", "date_in_zone", "htmlDateInZone")
	refuse("sprig", "it is random, so its output would change between two reconciliations of the same input; "+
		"if it must be secret, keep it in a Secret that a user or a generator creates, and read it by name or by spec.related (the UID of an object is public, and so is any hash of it)",
		"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4")
	refuse("sprig", "it creates a new key or certificate each time, so its output would change between two reconciliations; "+
		"use cert-manager, or keep it in a Secret",
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
		"genSignedCert", "genSignedCertWithKey", "buildCustomCert")
	refuse("sprig", "it has a random part, so its output would change between two reconciliations of the same input; "+
		"keep the result in a Secret", "bcrypt", "htpasswd", "encryptAES")
	refuse("sprig", "templates do not compute secrets; keep them in a Secret", "decryptAES")
	refuse("sprig", "it takes a third of a second of CPU; keep the password in a Secret", "derivePassword")
	refuse("sprig", "it reads templater's environment; use .values", "env", "expandenv")
	refuse("sprig", "it uses the network; put the address into the parent or into .values", "getHostByName")
	refuse("sprig", "it depends on the operating system; use base, dir, clean, ext and isAbs",
		"osBase", "osDir", "osClean", "osExt", "osIsAbs")
	refuse("text/template", "values are never functions; use include to call a define block", "call")
	refuse("helm", "it would parse data as a template; use include with a define block", "tpl")
	refuse("helm", "it queries the API server; use .observed for children, and .related for other objects", "lookup")
	refuse("helm", "it reads files of a chart; use .values", "Files")
	refuse("helm", "use fromYaml or fromJson, which also read lists", "fromYamlArray", "fromJsonArray")
	refuse("helm", "TOML is not supported; use toYaml or toJson", "toToml", "fromToml")
}
