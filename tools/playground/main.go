// Playground writes the page of the playground to a folder that any file server can serve: the files of
// internal/cli/playground/page/src, the program for the browser, and the examples of the repository. The same sources
// produce the same bytes.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	sources = "internal/cli/playground/page/src"
	// mostBytes is the maximum compressed size of the program, which a browser has to load.
	mostBytes = 8 << 20
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("playground: ")
	output := flag.String("output", "internal/cli/playground/page/dist", "folder to write")
	flag.Parse()
	if err := run(*output); err != nil {
		log.Fatal(err)
	}
}

func run(output string) error {
	files := map[string][]byte{}
	names, err := filepath.Glob(sources + "/*")
	if err != nil {
		return err
	}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	if files["wasm_exec.js"], err = support(); err != nil {
		return err
	}
	if files["playground.wasm.gz"], err = program("."); err != nil {
		return err
	}
	examples, err := examplesIn(groups)
	if err != nil {
		return err
	}
	if files["examples.json"], err = json.Marshal(examples); err != nil {
		return err
	}
	return write(output, files)
}

// support returns Go's support file for programs in a browser, from the Go version that builds them.
func support() ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
}

// program builds and compresses the program from the module in a folder.
func program(root string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "playground")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "playground.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, "./cmd/playground")
	if build.Dir, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "PWD="+build.Dir)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build cmd/playground: %w", err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := packed.Write(content); err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	if b.Len() > mostBytes {
		return nil, fmt.Errorf("the program has %d bytes, compressed, and may have %d: go list -deps ./cmd/playground shows what it is made of", b.Len(), mostBytes)
	}
	return b.Bytes(), nil
}

// write writes files to a folder, and removes all others.
func write(folder string, files map[string][]byte) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil { //nolint:gosec // world-readable
			return err
		}
	}
	return nil
}
