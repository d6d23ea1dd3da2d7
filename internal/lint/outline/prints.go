package outline

import "text/template/parse"

// Printed is what an action prints, as far as that is known without data.
type Printed int

// What actions print.
const (
	// Lines are any text, of any number of lines.
	Lines Printed = iota
	// Anything is one value or, where a variable or a dot holds what include or toYaml has made, any text.
	Anything
	// Value is a value of the data: a scalar, or a list or a map between brackets, on one line.
	Value
	// Scalar is a text, a number or a boolean.
	Scalar
	// DoubleQuoted and SingleQuoted are a text between such quotes.
	DoubleQuoted
	SingleQuoted
)

// What stands for what is printed: private characters, which no author writes. They are as long as each other.
const (
	value    = '\uE0F2' // a scalar
	data     = '\uE0F3' // a Value
	anything = '\uE0F4' // Anything
	lines    = '\uE0F5' // Lines
	gap      = "   "    // in place of one of them: nothing
)

const unsettled = string(data) + string(anything) + string(lines)

// Classifier says what an action prints that declares no variable.
type Classifier func(n *parse.ActionNode) Printed

func (p Printed) text() string {
	switch p {
	case Scalar:
		return string(value)
	case DoubleQuoted:
		return `"` + string(value) + `"`
	case SingleQuoted:
		return "'" + string(value) + "'"
	case Value:
		return string(data)
	case Anything:
		return string(anything)
	case Lines:
	}
	return string(lines)
}

// Operands calls do with each operand of a pipeline, functions among them.
func Operands(pipe *parse.PipeNode, do func(parse.Node)) {
	for _, cmd := range pipe.Cmds {
		for _, n := range cmd.Args {
			switch n := n.(type) {
			case *parse.PipeNode:
				Operands(n, do)
			case *parse.ChainNode:
				if inner, ok := n.Node.(*parse.PipeNode); ok {
					Operands(inner, do)
				}
			default:
				do(n)
			}
		}
	}
}
