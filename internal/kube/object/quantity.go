package object

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// quantityFields are the fields of built-in kinds that contain quantities, or maps of them.
var quantityFields = map[string]bool{
	"limits": true, "requests": true, "hard": true, "capacity": true, "overhead": true, "sizeLimit": true, "divisor": true, "averageValue": true,
	"max": true, "min": true, "default": true, "defaultRequest": true, "maxLimitRequestRatio": true,
}

// textFields are the fields that contain strings under arbitrary keys.
var textFields = map[string]bool{"metadata": true, "data": true, "stringData": true, "binaryData": true, "labels": true, "annotations": true, "matchLabels": true}

// IsQuantityField reports whether a field with that name contains quantities, or maps of them, in built-in kinds.
func IsQuantityField(name string) bool { return quantityFields[name] }

// quantityPlace is whether a value is a quantity, or may contain quantities.
type quantityPlace int

const (
	noQuantity quantityPlace = iota
	aboveQuantity
	inQuantity
)

// below returns the place of a field.
func (p quantityPlace) below(name string) quantityPlace {
	switch {
	case p != aboveQuantity:
		return p
	case textFields[name]:
		return noQuantity
	case IsQuantityField(name):
		return inQuantity
	}
	return p
}

// SameQuantity compares JSON scalars, treating equivalent quantities as equal: the server may have changed 1000m to 1.
func SameQuantity(a, b any) bool {
	if sameScalar(a, b) {
		return true
	}
	x, errX := ParseQuantity(fmt.Sprint(a))
	y, errY := ParseQuantity(fmt.Sprint(b))
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

// The limits of ParseQuantity. A quantity has at most 18 digits before the decimal point, and three after it.
const (
	maxQuantityBytes = 128
	maxExponent      = 100
)

var errQuantitySize = errors.New("the quantity has too many digits")

// ParseQuantity parses a quantity. It rejects texts of more than 128 bytes and exponents beyond ±100, which no real quantity has:
// users can write any text into an object, and resource.ParseQuantity computes the power of 10, which takes minutes for
// 1e2147483647.
func ParseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityBytes {
		return resource.Quantity{}, errQuantitySize
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if errors.Is(err, strconv.ErrRange) || err == nil && (exponent > maxExponent || exponent < -maxExponent) {
			return resource.Quantity{}, errQuantitySize
		}
	}
	return resource.ParseQuantity(text)
}
