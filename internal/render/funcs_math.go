package render

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/templater-dev/templater/internal/render/syntax"
)

func init() {
	g := group{source: "sprig", rendered: syntax.Expands}
	g.add(names("add"), 0, -1, "the sum of whole numbers", func(c *call) any { return c.fold(0, 0, addInt) })
	g.add(names("add1"), 1, 1, "the whole number plus 1", func(c *call) any { return c.checked(addInt(c.integer(0), 1)) })
	g.add(names("sub"), 2, 2, "the first whole number minus the second", func(c *call) any {
		return c.checked(subInt(c.integer(0), c.integer(1)))
	})
	g.add(names("mul"), 1, -1, "the product of whole numbers", func(c *call) any { return c.fold(1, 0, mulInt) })
	g.add(names("div"), 2, 2, "the first whole number divided by the second, without a remainder", func(c *call) any {
		return c.divide(func(a, b int64) int64 { return a / b })
	})
	g.add(names("mod"), 2, 2, "the remainder of that division", func(c *call) any {
		return c.divide(func(a, b int64) int64 { return a % b })
	})
	g.add(names("max", "biggest"), 1, -1, "the greatest whole number", func(c *call) any {
		return c.fold(c.integer(0), 1, func(a, b int64) (int64, bool) { return max(a, b), true })
	})
	g.add(names("min"), 1, -1, "the least whole number", func(c *call) any {
		return c.fold(c.integer(0), 1, func(a, b int64) (int64, bool) { return min(a, b), true })
	})
	g.add(names("int", "int64"), 1, 1, "the number without its fraction, or the text as a decimal number", toInt)
	g.add(names("atoi"), 1, 1, "the text as a decimal number", func(c *call) any { return c.integer(0) })
	g.add(names("float64"), 1, 1, "the number, or the text as a number, in floating point", func(c *call) any { return c.float(0) })
	g.add(names("toDecimal"), 1, 1, "the text as an octal number", toDecimal)
	g.add(names("ceil"), 1, 1, "the least whole number that is not less", func(c *call) any { return math.Ceil(c.float(0)) })
	g.add(names("floor"), 1, 1, "the greatest whole number that is not greater", func(c *call) any { return math.Floor(c.float(0)) })
	g.add(names("round"), 2, 3, "the number rounded to so many decimals", round)
	g.add(names("maxf"), 1, -1, "the greatest number", func(c *call) any { return c.foldFloat(math.Max) })
	g.add(names("minf"), 1, -1, "the least number", func(c *call) any { return c.foldFloat(math.Min) })
	g.add(names("addf"), 0, -1, "the sum", func(c *call) any { return c.decimals("addf", 0) })
	g.add(names("add1f"), 1, 1, "the number plus 1", func(c *call) any {
		return c.finite(sprigFunc[func(any) float64]("add1f")(c.float(0)))
	})
	g.add(names("subf"), 1, -1, "the first number minus the others", func(c *call) any { return c.decimals("subf", 1) })
	g.add(names("mulf"), 1, -1, "the product", func(c *call) any { return c.decimals("mulf", 1) })
	g.add(names("divf"), 1, -1, "the first number divided by the others", divf)
}

// fractions says what to do with a number that a function for whole numbers
// does not take.
func fractions(name string) string {
	const cutOff = "int cuts off its fraction"
	if f := functions[name+"f"]; f != nil {
		return cutOff + ", and " + f.Name + " takes it as it is"
	}
	return cutOff
}

// fold combines the arguments from the given one on.
func (c *call) fold(start int64, from int, do func(a, b int64) (int64, bool)) any {
	total := start
	for i := from; i < len(c.args); i++ {
		n, ok := do(total, c.integer(i))
		if !ok {
			return c.checked(0, false)
		}
		total = n
	}
	return total
}

// checked fails if a result did not fit.
func (c *call) checked(n int64, ok bool) any {
	if !ok {
		return c.fail("the result does not fit in 64 bits")
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

func (c *call) divide(do func(a, b int64) int64) any {
	a, b := c.integer(0), c.integer(1)
	switch {
	case b == 0:
		return c.fail("division by 0")
	case b == -1 && a == math.MinInt64:
		return c.checked(0, false)
	}
	return do(a, b)
}

// toInt cuts off the fraction of a number, as its name promises in Go.
func toInt(c *call) any {
	f, ok := c.args[0].(float64)
	if !ok {
		return c.integer(0)
	}
	n, ok := wholeNumber(math.Trunc(f))
	return c.checked(n, ok)
}

func toDecimal(c *call) any {
	n, err := strconv.ParseInt(c.str(0), 8, 64)
	if err != nil {
		return c.fail("argument 1 is not an octal number")
	}
	return n
}

// round rounds half away from zero, or up from the third argument.
func round(c *call) any {
	v, places, on := c.float(0), c.integer(1), 0.5
	if len(c.args) > 2 {
		on = c.float(2)
	}
	if places < -300 || places > 300 {
		return c.fail("argument 2 must be from -300 to 300")
	}
	scale := math.Pow(10, float64(places))
	whole, fraction := math.Modf(v * scale)
	if math.Abs(fraction) >= on {
		whole += math.Copysign(1, v)
	}
	return c.finite(whole / scale)
}

func (c *call) finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return c.fail("the result is not a finite number")
	}
	return f
}

func (c *call) foldFloat(do func(a, b float64) float64) any {
	total := c.float(0)
	for i := 1; i < len(c.args); i++ {
		total = do(total, c.float(i))
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
func (c *call) decimals(name string, fixed int) any {
	const most = 16
	if len(c.args) > most {
		return c.fail("takes at most %d arguments", most)
	}
	args := make([]any, len(c.args))
	for i := range c.args {
		f := c.float(i)
		_, exponent := math.Frexp(f)
		if args[i] = f; !c.pay(costDecimal + costExponent*max(exponent, -exponent)) {
			return nil
		}
	}
	if fixed == 0 {
		return c.finite(sprigFunc[func(...any) float64](name)(args...))
	}
	return c.finite(sprigFunc[func(any, ...any) float64](name)(args[0], args[1:]...))
}

func divf(c *call) any {
	for i := 1; i < len(c.args); i++ {
		if c.float(i) == 0 {
			return c.fail("division by 0")
		}
	}
	return c.decimals("divf", 1)
}
