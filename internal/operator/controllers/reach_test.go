package controllers

import (
	"reflect"
	"strings"
	"testing"
)

// lengths adds up the lengths of the maps and lists that are below what v points to, at paths such as "lines.KEY.places": so much is
// remembered there.
func lengths(t *testing.T, v any, paths ...string) int {
	t.Helper()
	sum := 0
	for _, path := range paths {
		if at := reach(t, reflect.ValueOf(v), strings.Split(path, ".")); at.IsValid() {
			sum += at.Len()
		}
	}
	return sum
}

// reach follows a path of fields and keys. What it returns is not valid where a map has no such key.
func reach(t *testing.T, v reflect.Value, path []string) reflect.Value {
	t.Helper()
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case len(path) == 0 || !v.IsValid():
		return v
	case v.Kind() == reflect.Map:
		return reach(t, v.MapIndex(reflect.ValueOf(path[0])), path[1:])
	}
	field := v.FieldByName(path[0])
	if !field.IsValid() {
		t.Fatalf("%s has no %s", v.Type(), path[0])
	}
	return reach(t, field, path[1:])
}
