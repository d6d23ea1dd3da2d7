//go:build js && wasm

// Command ended is called as the program of the playground is, and ends as one without memory does.
package main

import (
	"os"
	"syscall/js"
)

func main() {
	js.Global().Set("templaterAnswer", js.FuncOf(func(js.Value, []js.Value) any {
		os.Exit(2)
		return nil
	}))
	select {}
}
