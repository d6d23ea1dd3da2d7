package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestNormalize(t *testing.T) {
	for name, want := range map[string]string{
		"busybox":               "docker.io/library/busybox:latest",
		"templater:dev":         "docker.io/library/templater:dev",
		"templater-dev/x:1":     "docker.io/templater-dev/x:1",
		"localhost/pause:1":     "localhost/pause:1",
		"registry:5000/a/b":     "registry:5000/a/b:latest",
		"example.org/templater": "example.org/templater:latest",
	} {
		if got := Normalize(name); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", name, got, want)
		}
	}
}

// read returns the files of an archive.
func readArchive(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteFromFolder(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{"app": "program", "empty": "", "sub/data": "x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("app", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	first, second := write(t, dir), write(t, dir)
	if !bytes.Equal(first, second) {
		t.Error("equal input gives different archives")
	}
	outer := readArchive(t, first)
	var manifests []manifest
	if err := json.Unmarshal(outer["manifest.json"], &manifests); err != nil {
		t.Fatal(err)
	}
	if got := manifests[0].RepoTags[0]; got != "docker.io/library/app:1" {
		t.Errorf("tag: got %s", got)
	}
	layer := readArchive(t, outer["layer.tar"])
	for _, want := range []string{"tmp/", "app", "empty", "sub/", "sub/data", "link"} {
		if _, ok := layer[want]; !ok {
			t.Errorf("the layer lacks %s", want)
		}
	}
	if string(layer["app"]) != "program" {
		t.Errorf("app: got %q", layer["app"])
	}
}

func write(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (Image{Tags: []string{"app:1"}, Files: files}).Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
