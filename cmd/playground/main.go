//go:build js && wasm

// Command playground is the WebAssembly module of the playground page: see package playground. It defines the JavaScript function templaterAnswer,
// which takes a request and returns a response, both as JSON. It never exits. It loads the schemas of the built-in kinds first, because that takes
// longer than a response is allowed to take.
package main

import (
	"runtime/debug"
	"syscall/js"

	"github.com/go-logr/logr"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/cli/playground"
	"github.com/templater-dev/templater/internal/kube/openapi"
)

func main() {
	debug.SetGCPercent(400)        // a collection blocks the only thread, and the heap is small
	klog.SetLogger(logr.Discard()) // the page does not show library logs
	openapi.BuiltIn().Lookup(gvk.GroupVersionKind{Version: "v1", Kind: "Pod"})
	session := &playground.Session{}
	js.Global().Set("templaterAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(session.AnswerJSON([]byte(args[0].String())))
	}))
	select {}
}
