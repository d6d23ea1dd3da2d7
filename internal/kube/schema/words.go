package schema

import "strings"

// Words says what a value may be, such as "a string or a number".
func (k Kinds) Words() string {
	var words []string
	for _, each := range []struct {
		kinds Kinds
		words string
	}{{String, "a string"}, {Integer | Number, "a number"}, {Boolean, "a boolean"}, {List, "a list"}, {Map, "a map"}, {Null, "missing"}} {
		if k&each.kinds != 0 {
			words = append(words, each.words)
		}
	}
	return strings.Join(words, " or ")
}

// Classes returns the kinds without null, in which all numbers are one.
func (k Kinds) Classes() Kinds {
	if k&(Integer|Number) != 0 {
		k |= Integer | Number
	}
	return k &^ Null
}
