//go:build js && wasm

// Command playground is what the page of the playground calls: see package playground. It sets the function templaterAnswer, which takes a
// request and returns an answer, both as JSON, and ends only with what it runs in. It reads the schemas of the built-in kinds before, which takes
// longer than an answer may.
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
	debug.SetGCPercent(400)        // there is one thread, which answers meanwhile, and little to keep
	klog.SetLogger(logr.Discard()) // what a library logs besides its error is not for the page
	openapi.BuiltIn().Lookup(gvk.GroupVersionKind{Version: "v1", Kind: "Pod"})
	session := &playground.Session{}
	js.Global().Set("templaterAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(session.AnswerJSON([]byte(args[0].String())))
	}))
	select {}
}
