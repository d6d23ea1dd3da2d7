package funcs

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/templater-dev/templater/internal/render/data"
)

// fold combines start with the arguments from index from on.
func fold(c *data.Call, start int64, from int, do func(a, b int64) (int64, bool)) any {
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

// combined returns the result of do, or fails if it does not fit.
func combined(c *data.Call, a, b int64, do func(a, b int64) (int64, bool)) any {
	n, ok := do(a, b)
	return checked(c, n, ok)
}

// checked returns n, or fails if ok is false.
func checked(c *data.Call, n int64, ok bool) any {
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

func divide(c *data.Call, do func(a, b int64) int64) any {
	a, b := c.Integer(0), c.Integer(1)
	switch {
	case b == 0:
		return c.Fail("division by 0")
	case b == -1 && a == math.MinInt64:
		return checked(c, 0, false)
	}
	return do(a, b)
}

// toInt truncates a number toward zero, like a conversion to int in Go.
func toInt(c *data.Call) any {
	f, ok := c.Args[0].(float64)
	if !ok {
		return c.Integer(0)
	}
	n, ok := data.WholeNumber(math.Trunc(f))
	return checked(c, n, ok)
}

func toDecimal(c *data.Call) any {
	n, err := strconv.ParseInt(c.Str(0), 8, 64)
	if err != nil {
		return c.Fail("argument 1 is not an octal number")
	}
	return n
}

// round rounds half away from zero; a third argument replaces the half.
func round(c *data.Call) any {
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

func finite(c *data.Call, f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return c.Fail("the result is not a finite number")
	}
	return f
}

func foldFloat(c *data.Call, do func(a, b float64) float64) any {
	total := c.Float(0)
	for i := 1; i < len(c.Args); i++ {
		total = do(total, c.Float(i))
	}
	return total
}

// Costs of decimal arithmetic, which is slower the further numbers are from 1.
const (
	costDecimal  = 500
	costExponent = 25 // per power of 2
)

// decimals calls a sprig function, which calculates in decimal: 0.1 plus 0.2 is
// 0.3. The number of digits grows with each argument.
func decimals(c *data.Call, name string, fixed int) any {
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

func divf(c *data.Call) any {
	for i := 1; i < len(c.Args); i++ {
		if c.Float(i) == 0 {
			return c.Fail("division by 0")
		}
	}
	return decimals(c, "divf", 1)
}
