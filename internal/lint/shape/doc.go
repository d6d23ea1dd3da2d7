// Package shape compares the YAML that templates write out with the kinds that it is for: fields, types, places and habits. It is pure.
package shape
