// Builtins writes internal/kube/openapi/builtin.json.gz: the schemas of the built-in kinds of Kubernetes, in all
// versions, as one OpenAPI document without unused parts. It reads them from the module k8s.io/kubernetes, whose
// version follows that of k8s.io/api in go.mod; the enums are from its generated Go code, since its documents have
// none.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const output = "internal/kube/openapi/builtin.json.gz"

func main() {
	log.SetFlags(0)
	log.SetPrefix("builtins: ")
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	module, err := release()
	if err != nil {
		return err
	}
	folder := filepath.Join(module, "api", "openapi-spec", "v3")
	files, err := filepath.Glob(filepath.Join(folder, "api*_openapi.json"))
	if err != nil {
		return err
	}
	all := newDocument()
	for _, file := range files {
		if err := all.add(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := all.addEnums(filepath.Join(module, enumsFile)); err != nil {
		return fmt.Errorf("%s: %w", enumsFile, err)
	}
	all.cut()
	if len(all.Components.Schemas) == 0 {
		return fmt.Errorf("there are no schemas in %s", folder)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return write(output, text)
}

// release returns the module folder of the release that belongs to k8s.io/api.
func release() (string, error) {
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/api").Output()
	if err != nil {
		return "", told("go list -m k8s.io/api", err)
	}
	path := "k8s.io/kubernetes@" + strings.Replace(strings.TrimSpace(string(version)), "v0.", "v1.", 1)
	text, err := exec.Command("go", "mod", "download", "-json", path).Output()
	if err != nil {
		return "", told("go mod download "+path, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(text, &module); err != nil {
		return "", err
	}
	return module.Dir, nil
}

// told adds a command's standard error to its error.
func told(command string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s: %w: %s", command, err, bytes.TrimSpace(exit.Stderr))
	}
	return fmt.Errorf("%s: %w", command, err)
}

// write compresses text into a file, unless the file already contains it: other versions of Go compress to other bytes.
func write(file string, text []byte) error {
	if held, err := read(file); err == nil && bytes.Equal(held, text) {
		return nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

func read(file string) ([]byte, error) {
	packed, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
