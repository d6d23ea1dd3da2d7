//go:build js && wasm

// Command faulty has the same interface as the playground's program. It exits, like a program out of memory, if a text
// contains "end", loops forever if one contains "endless", and otherwise returns nothing.
package main

import (
	"os"
	"strings"
	"syscall/js"
)

func main() {
	js.Global().Set("templaterAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		request := args[0].String()
		for strings.Contains(request, "endless") {
		}
		if strings.Contains(request, "end") {
			os.Exit(2)
		}
		return `{"problems":[],"findings":[],"summary":{"errors":0,"warnings":0},"results":[]}`
	}))
	select {}
}
