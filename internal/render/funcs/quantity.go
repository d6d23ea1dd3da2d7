package funcs

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/templater-dev/templater/internal/render/data"
)

// costQuantity is the cost of parsing a quantity, in units of work.
const costQuantity = 800

// quantitySyntax limits the digits of a quantity. Large exponents would take seconds.
var quantitySyntax = regexp.MustCompile(`^[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})(n|u|m|k|[KMGTPE]i|[MGTPE]|[eE][+-]?[0-9]{1,2})?$`)

// quantityOf returns argument i as a quantity of Kubernetes.
func quantityOf(c *data.Call, i int) resource.Quantity {
	text := c.Str(i)
	if c.Err != nil || !c.Pay(costQuantity) {
		return resource.Quantity{}
	}
	q, err := ParseQuantity(text)
	if err != nil {
		c.Fail("argument %d is not %s", i+1, Quantity)
	}
	return q
}

// Quantity describes a quantity in messages.
const Quantity = "a quantity, such as 500m, 2 or 1.5Gi"

// ParseQuantity returns the quantity that a text stands for.
func ParseQuantity(text string) (resource.Quantity, error) {
	if !quantitySyntax.MatchString(text) {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}

func quantityCompare(c *data.Call) any {
	a, b := quantityOf(c, 0), quantityOf(c, 1)
	return int64(a.Cmp(b))
}

func quantityAdd(c *data.Call) any {
	sum := quantityOf(c, 0)
	for i := 1; i < len(c.Args) && c.Err == nil; i++ {
		sum.Add(quantityOf(c, i))
	}
	return sum.String()
}
