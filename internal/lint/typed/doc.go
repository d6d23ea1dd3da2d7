// Package typed follows the types of values through templates: those that schemas tell of the parent and of other objects,
// those of spec.values, and those that functions yield. It finds what is bound to fail or never there, whatever the data.
// What it knows nothing of may be anything, about which it is silent. It is pure, and its work is bounded.
package typed
