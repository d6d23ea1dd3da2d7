package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
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

// unpack writes the regular files of a tar into a folder, and returns the content of all entries by name.
func unpack(t *testing.T, from io.Reader, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(body)
		if path := filepath.Join(dir, header.Name); header.Typeflag == tar.TypeReg {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, body, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// folder returns a folder with a file of each type.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{"app": "program", "empty": "", "sub/data": "x"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("app", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWriteFile(t *testing.T) {
	dir := folder(t)
	first, second := write1(t, dir), write1(t, dir)
	if !bytes.Equal(first, second) {
		t.Error("equal input gives different archives")
	}
	unpacked := t.TempDir()
	unpack(t, bytes.NewReader(first), unpacked)
	all, err := layout.ImageIndexFromPath(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Errorf("the archive is no proper OCI layout: %v", err)
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range manifest.Manifests {
		names = append(names, one.Annotations[nameAnnotation], one.Annotations[tagAnnotation])
	}
	want := []string{"docker.io/library/app:1", "1", "docker.io/library/app:latest", "latest"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	index, err := all.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	checkImages(t, index)
}

// checkImages expects an image for each platform, with the content of folder.
func checkImages(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, one := range manifest.Manifests {
		platforms = append(platforms, one.Platform.String())
		image, err := index.Image(one.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.OS + "/" + config.Architecture; got != one.Platform.String() {
			t.Errorf("the image for %s has the platform %s", one.Platform, got)
		}
		if diff := cmp.Diff(v1.Config{User: "1:2", Env: []string{"A=b"}, Labels: map[string]string{"c": "d"}, WorkingDir: "/"}, config.Config); diff != "" {
			t.Errorf("configuration (-want +got):\n%s", diff)
		}
		checkLayer(t, image)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

func checkLayer(t *testing.T, image v1.Image) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("got %d layers and error %v, want one", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	want := map[string]string{"tmp/": "", "app": "program", "empty": "", "sub/": "", "sub/data": "x", "link": ""}
	if diff := cmp.Diff(want, unpack(t, content, t.TempDir())); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
}

func write1(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	image := Image{Files: files, User: "1:2", Env: []string{"A=b"}, Labels: map[string]string{"c": "d"}}
	var images []Image
	for _, image.Architecture = range []string{"amd64", "arm64"} {
		images = append(images, image)
	}
	index, err := Index(images...)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.tar")
	if err := WriteFile(file, index, "app:1", "app"); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestErrorsNameTheFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := FromPath(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is not there: got error %v", err)
	}
	index, err := Index()
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(missing, "app.tar"), index, "app"); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a folder that is not there: got error %v", err)
	}
}
