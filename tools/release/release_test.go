package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/tools/release/manifest"
)

// source is a folder like the repository, with a small program in place of the operator. Its files have the given age.
func source(t *testing.T, age time.Duration) string {
	t.Helper()
	const empty = "package main\n\nfunc main() {}\n"
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "config"), os.DirFS("../../config")); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"go.mod": "module github.com/templater-dev/templater\n\ngo 1.26\n", "LICENSE": "free",
		"cmd/templater/main.go": empty, "cmd/playground/main.go": empty, "tools/playground/main.go": empty,
	} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		then := time.Now().Add(-age)
		return errors.Join(err, os.Chtimes(path, then, then))
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func arguments(source, output string, more ...string) []string {
	return append([]string{
		"--source", source, "--output", output, "--version", "v1.2.3", "--base-url", "https://example.org/v1.2.3/",
		"--image", "registry.example.org/templater", "--platforms", "linux/" + runtime.GOARCH,
	}, more...)
}

// makeRelease builds a release and returns its files.
func makeRelease(t *testing.T, args []string) map[string][]byte {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	folder := args[slices.Index(args, "--output")+1]
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), filepath.Join(folder, entry.Name())+" ") {
			t.Errorf("the output does not tell of %s: %s", entry.Name(), &out)
		}
	}
	return files
}

const linux = "templater_v1.2.3_linux_" + runtime.GOARCH + ".tar.gz"

func TestReleaseIsReproducible(t *testing.T) {
	first := makeRelease(t, arguments(source(t, time.Hour), t.TempDir()))
	second := makeRelease(t, arguments(source(t, 24*time.Hour), filepath.Join(t.TempDir(), "other", "dist")))
	want := []string{
		"SHA256SUMS", "THIRD-PARTY-LICENSES", "first-object.yaml", "first.yaml", "install.yaml", "templater-chart_v1.2.3.tgz", "templater.krew.yaml", "templater_v1.2.3.spdx.json", "templater_v1.2.3_image.tar", linux,
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(first))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, body := range first {
		if !bytes.Equal(body, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
	checkSums(t, first)
	checkProgram(t, first)
}

func checkSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(files[sumsFile])), "\n")
	if len(lines) != len(files)-1 {
		t.Errorf("there are sums of %d files, want all %d", len(lines), len(files)-1)
	}
	for _, line := range lines {
		want, name, _ := strings.Cut(line, "  ")
		if sum := sha256.Sum256(files[name]); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: the sum is wrong", name)
		}
	}
}

func checkProgram(t *testing.T, files map[string][]byte) {
	t.Helper()
	open, err := gzip.NewReader(bytes.NewReader(files[linux]))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(open); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.FileInfo().Mode().String()+" "+header.Name)
	}
	if diff := cmp.Diff([]string{"-rwxr-xr-x templater", "-rw-r--r-- LICENSE", "-rw-r--r-- THIRD-PARTY-LICENSES"}, names); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

// install.yaml refers to the pushed image by digest, which is immutable.
func TestManifestsNamePushedImage(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/some/templater"
	files := makeRelease(t, append(arguments(source(t, 0), t.TempDir()), "--image", repository, "--push"))
	digest, err := crane.Digest(repository + ":v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for _, text := range strings.Split(string(files[installFile]), "\n---\n")[1:] {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	want, err := manifest.Objects("../..", manifest.Image{Repository: repository, Digest: digest})
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != len(want) || !strings.Contains(string(files[installFile]), "image: "+repository+"@"+digest+"\n") {
		t.Errorf("install.yaml has %d objects, want %d, and the image @%s", len(objects), len(want), digest)
	}
	if _, err := manifest.Find(objects, "Deployment", "templater"); err != nil {
		t.Error(err)
	}
}

func TestKrewManifestListsPlatforms(t *testing.T) {
	platforms := "linux/" + runtime.GOARCH + ",windows/" + runtime.GOARCH
	if testing.Short() {
		platforms = "linux/" + runtime.GOARCH
	}
	files := makeRelease(t, append(arguments(source(t, 0), t.TempDir()), "--platforms", platforms))
	parsed, err := parsePlatforms(platforms)
	if err != nil {
		t.Fatal(err)
	}
	checkFormats(t, files, parsed)
	var p plugin
	if err := yaml.UnmarshalStrict(files[pluginFile], &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Spec.Platforms) != strings.Count(platforms, ",")+1 {
		t.Errorf("got %d platforms", len(p.Spec.Platforms))
	}
	for _, one := range p.Spec.Platforms {
		file, found := strings.CutPrefix(one.URI, "https://example.org/v1.2.3/")
		sum := sha256.Sum256(files[file])
		if !found || files[file] == nil || one.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: got the sum %s of %s", one.URI, one.SHA256, file)
		}
		if one.Selector["matchLabels"]["os"] != "windows" {
			continue
		}
		r, err := zip.NewReader(bytes.NewReader(files[file]), int64(len(files[file])))
		if err != nil || one.Bin != "templater.exe" || r.File[0].Name != one.Bin {
			t.Errorf("got the program %s of %s, and error %v", one.Bin, file, err)
		}
	}
}

func TestErrorsAreActionable(t *testing.T) {
	good, output := source(t, 0), t.TempDir()
	for why, row := range map[string]struct {
		args []string
		want string
	}{
		"no version":                 {[]string{"--version", ""}, "it is no clone, whose commit would tell the version: give --version"},
		"a bad version":              {[]string{"--version", "1.2.3"}, `--version: "1.2.3" is not a valid version: give one of the form v1.2.3`},
		"a URL without a scheme":     {[]string{"--base-url", "example.org"}, "--base-url example.org: must start with https://"},
		"a bad platform":             {[]string{"--platforms", "linux"}, `--platforms: "linux" is not of the form SYSTEM/ARCHITECTURE`},
		"no platform":                {[]string{"--platforms", ""}, "--platforms: give what to build for"},
		"nothing for the image":      {[]string{"--platforms", "darwin/arm64"}, "--platforms: darwin/arm64: include a Linux platform, for the image"},
		"a folder with other files":  {[]string{"--output", good}, "there are files in it, and none is SHA256SUMS: give an empty folder"},
		"a file for a folder":        {[]string{"--output", filepath.Join(good, "LICENSE")}, "LICENSE"},
		"a bad image":                {[]string{"--image", "Templater"}, "--image Templater"},
		"a folder with other things": {[]string{"--source", t.TempDir()}, "make the page of the playground: "},
		"no registry there":          {[]string{"--image", "localhost:1/templater", "--push"}, "push localhost:1/templater:v1.2.3"},
		"something besides flags":    {[]string{"dist"}, "dist: unexpected argument"},
	} {
		err := run(t.Context(), arguments(good, output, row.args...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one with %q", why, err, row.want)
		}
	}
}
