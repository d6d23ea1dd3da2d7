//go:build js && wasm

// Command faulty is called as the program of the playground is. It ends, as one without memory does, where a text says "end", computes for ever
// where one says "endless", and has nothing to say of others.
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
