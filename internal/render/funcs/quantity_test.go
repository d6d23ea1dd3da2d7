package funcs_test

import (
	"strings"
	"testing"
)

func TestQuantityFunctions(t *testing.T) {
	const not = "is not a quantity, such as 500m, 2 or 1.5Gi"
	want := map[string]string{
		`quantityCompare "500m" 1`:                                `-1`,
		`quantityCompare "1Gi" "1024Mi"`:                          `0`,
		`quantityCompare "1G" "1000000k"`:                         `0`,
		`quantityCompare "1Gi" "1G"`:                              `1`,
		`quantityCompare 0.5 "500m"`:                              `0`,
		`quantityCompare "-1" "0"`:                                `-1`,
		`quantityCompare "1e3" "1k"`:                              `0`,
		`quantityCompare "1 Gi" "1Gi"`:                            `error: quantityCompare: argument 1 ` + not,
		`quantityCompare "1" ""`:                                  `error: quantityCompare: argument 2 ` + not,
		`quantityCompare "1" "1gb"`:                               `error: quantityCompare: argument 2 ` + not,
		`quantityCompare "1e999999999" "1"`:                       `error: quantityCompare: argument 1 ` + not,
		`quantityCompare "1" true`:                                `error: quantityCompare: argument 2 ` + not,
		`quantityAdd "500m" "500m"`:                               `"1"`,
		`quantityAdd "1Gi" "512Mi" "512Mi"`:                       `"2Gi"`,
		`quantityAdd "1Gi" "-256Mi"`:                              `"768Mi"`,
		`quantityAdd 2`:                                           `"2"`,
		`quantityAdd "9223372036854775807" "9223372036854775807"`: `"18446744073709551614"`,
		`quantityAdd "1" "lots"`:                                  `error: quantityAdd: argument 2 ` + not,
	}
	want[`quantityAdd "`+strings.Repeat("9", 26)+`"`] = `error: quantityAdd: argument 1 ` + not
	yield(t, want)
}
