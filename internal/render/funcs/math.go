package funcs

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/templater-dev/templater/internal/render/call"
	"github.com/templater-dev/templater/internal/render/syntax"
)

func init() {
	g := group{source: "sprig", rendered: syntax.Expands}
	g.add(names("add"), 0, -1, "the sum of whole numbers", func(c *call.Call) any { return fold(c, 0, 0, addInt) })
	g.add(names("add1"), 1, 1, "the whole number plus 1", func(c *call.Call) any { return combined(c, c.Integer(0), 1, addInt) })
	g.add(names("sub"), 2, 2, "the first whole number minus the second", func(c *call.Call) any {
		return combined(c, c.Integer(0), c.Integer(1), subInt)
	})
	g.add(names("mul"), 1, -1, "the product of whole numbers", func(c *call.Call) any { return fold(c, 1, 0, mulInt) })
	g.add(names("div"), 2, 2, "the first whole number divided by the second, without a remainder", func(c *call.Call) any {
		return divide(c, func(a, b int64) int64 { return a / b })
	})
	g.add(names("mod"), 2, 2, "the remainder of that division", func(c *call.Call) any {
		return divide(c, func(a, b int64) int64 { return a % b })
	})
	g.add(names("max", "biggest"), 1, -1, "the greatest whole number", func(c *call.Call) any {
		return fold(c, c.Integer(0), 1, func(a, b int64) (int64, bool) { return max(a, b), true })
	})
	g.add(names("min"), 1, -1, "the least whole number", func(c *call.Call) any {
		return fold(c, c.Integer(0), 1, func(a, b int64) (int64, bool) { return min(a, b), true })
	})
	g.add(names("int", "int64"), 1, 1, "the number without its fraction, or the text as a decimal number", toInt)
	g.add(names("atoi"), 1, 1, "the text as a decimal number", func(c *call.Call) any { return c.Integer(0) })
	g.add(names("float64"), 1, 1, "the number, or the text as a number, in floating point", func(c *call.Call) any { return c.Float(0) })
	g.add(names("toDecimal"), 1, 1, "the text as an octal number", toDecimal)
	g.add(names("ceil"), 1, 1, "the least whole number that is not less", func(c *call.Call) any { return math.Ceil(c.Float(0)) })
	g.add(names("floor"), 1, 1, "the greatest whole number that is not greater", func(c *call.Call) any { return math.Floor(c.Float(0)) })
	g.add(names("round"), 2, 3, "the number rounded to so many decimals", round)
	g.add(names("maxf"), 1, -1, "the greatest number", func(c *call.Call) any { return foldFloat(c, math.Max) })
	g.add(names("minf"), 1, -1, "the least number", func(c *call.Call) any { return foldFloat(c, math.Min) })
	g.add(names("addf"), 0, -1, "the sum", func(c *call.Call) any { return decimals(c, "addf", 0) })
	g.add(names("add1f"), 1, 1, "the number plus 1", func(c *call.Call) any {
		return finite(c, sprigFunc[func(any) float64]("add1f")(c.Float(0)))
	})
	g.add(names("subf"), 1, -1, "the first number minus the others", func(c *call.Call) any { return decimals(c, "subf", 1) })
	g.add(names("mulf"), 1, -1, "the product", func(c *call.Call) any { return decimals(c, "mulf", 1) })
	g.add(names("divf"), 1, -1, "the first number divided by the others", divf)
	for _, name := range names("add", "add1", "sub", "mul", "div", "max", "min") {
		functions[name].Fractions = functions[name+"f"].Name
	}
}

// fold combines the arguments from the given one on.
func fold(c *call.Call, start int64, from int, do func(a, b int64) (int64, bool)) any {
	total := start
	for i := from; i < len(c.Args); i++ {
		n, ok := do(total, c.Integer(i))
		if !ok {
			return checked(c, 0, false)
		}
		total = n
	}
	return total
}

// combined returns what do makes of two numbers, if that fits.
func combined(c *call.Call, a, b int64, do func(a, b int64) (int64, bool)) any {
	n, ok := do(a, b)
	return checked(c, n, ok)
}

// checked fails if a result did not fit.
func checked(c *call.Call, n int64, ok bool) any {
	if !ok {
		return c.Fail("the result does not fit in 64 bits")
	}
	return n
}

func addInt(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func subInt(a, b int64) (int64, bool) {
	difference := a - b
	return difference, (difference < a) == (b > 0)
}

func mulInt(a, b int64) (int64, bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	fits := high == 0 && (low < 1<<63 || negative && low == 1<<63)
	return a * b, fits
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func divide(c *call.Call, do func(a, b int64) int64) any {
	a, b := c.Integer(0), c.Integer(1)
	switch {
	case b == 0:
		return c.Fail("division by 0")
	case b == -1 && a == math.MinInt64:
		return checked(c, 0, false)
	}
	return do(a, b)
}

// toInt cuts off the fraction of a number, as its name promises in Go.
func toInt(c *call.Call) any {
	f, ok := c.Args[0].(float64)
	if !ok {
		return c.Integer(0)
	}
	n, ok := call.WholeNumber(math.Trunc(f))
	return checked(c, n, ok)
}

func toDecimal(c *call.Call) any {
	n, err := strconv.ParseInt(c.Str(0), 8, 64)
	if err != nil {
		return c.Fail("argument 1 is not an octal number")
	}
	return n
}

// round rounds half away from zero, or up from the third argument.
func round(c *call.Call) any {
	v, places, on := c.Float(0), c.Integer(1), 0.5
	if len(c.Args) > 2 {
		on = c.Float(2)
	}
	if places < -300 || places > 300 {
		return c.Fail("argument 2 must be from -300 to 300")
	}
	scale := math.Pow(10, float64(places))
	whole, fraction := math.Modf(v * scale)
	if math.Abs(fraction) >= on {
		whole += math.Copysign(1, v)
	}
	return finite(c, whole/scale)
}

func finite(c *call.Call, f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return c.Fail("the result is not a finite number")
	}
	return f
}

func foldFloat(c *call.Call, do func(a, b float64) float64) any {
	total := c.Float(0)
	for i := 1; i < len(c.Args); i++ {
		total = do(total, c.Float(i))
	}
	return total
}

// Calculating in decimal takes longer the further numbers are from 1.
const (
	costDecimal  = 500
	costExponent = 25 // per power of 2
)

// decimals lets sprig calculate, which does so in decimal: 0.1 and 0.2 make
// 0.3. The number of its digits grows with each argument.
func decimals(c *call.Call, name string, fixed int) any {
	const most = 16
	if len(c.Args) > most {
		return c.Fail("takes at most %d arguments", most)
	}
	args := make([]any, len(c.Args))
	for i := range c.Args {
		f := c.Float(i)
		_, exponent := math.Frexp(f)
		if args[i] = f; !c.Pay(costDecimal + costExponent*max(exponent, -exponent)) {
			return nil
		}
	}
	if fixed == 0 {
		return finite(c, sprigFunc[func(...any) float64](name)(args...))
	}
	return finite(c, sprigFunc[func(any, ...any) float64](name)(args[0], args[1:]...))
}

func divf(c *call.Call) any {
	for i := 1; i < len(c.Args); i++ {
		if c.Float(i) == 0 {
			return c.Fail("division by 0")
		}
	}
	return decimals(c, "divf", 1)
}
