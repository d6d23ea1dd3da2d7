//go:build js && wasm

// Command playground is what the page of the playground calls: see package playground. It sets the function templaterAnswer, which takes a
// request and returns an answer, both as JSON, and ends only with what it runs in.
package main

import (
	"syscall/js"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/playground"
)

func main() {
	klog.SetLogger(logr.Discard()) // what a library logs besides its error is not for the page
	js.Global().Set("templaterAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(playground.AnswerJSON([]byte(args[0].String())))
	}))
	select {}
}
