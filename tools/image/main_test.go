package main

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/templater-dev/templater/tools/image/program"
)

// source is a small module in place of the operator's.
func source(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{"go.mod": "module templater\n\ngo 1.26\n", "cmd/templater/main.go": program} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestArchiveIsReproducibleAndPushed(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/some/templater:v1"
	var archives [2][]byte
	for i := range archives {
		output := filepath.Join(t.TempDir(), "templater.tar")
		var out bytes.Buffer
		args := []string{"--source", source(t, "package main\n\nfunc main() {}\n"), "--name", image, "--output", output, "--push"}
		if err := run(t.Context(), args, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "pushed "+image) {
			t.Errorf("got the output %q", &out)
		}
		var err error
		if archives[i], err = os.ReadFile(output); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same source gave two different archives")
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		got, err := pulled(image, architecture)
		if err != nil {
			t.Fatal(err)
		}
		want := v1.Config{User: "65532:65532", Entrypoint: []string{"/templater"}, Labels: program.Labels, WorkingDir: "/", Env: got.Config.Env}
		if diff := cmp.Diff(want, got.Config); diff != "" || got.Architecture != architecture {
			t.Errorf("image for %s is one for %s (-want +got):\n%s", architecture, got.Architecture, diff)
		}
	}
}

func pulled(image, architecture string) (*v1.ConfigFile, error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return nil, err
	}
	got, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture}))
	if err != nil {
		return nil, err
	}
	return got.ConfigFile()
}

func TestErrorsAreActionable(t *testing.T) {
	good := source(t, "package main\n\nfunc main() {}\n")
	output := filepath.Join(t.TempDir(), "templater.tar")
	tests := map[string]struct {
		args []string
		want string
	}{
		"a bad name":               {[]string{"--name", "Templater:dev"}, "--name Templater:dev"},
		"a system that is not run": {[]string{"--platforms", "windows/amd64"}, `"windows/amd64" is not of the form linux/ARCHITECTURE`},
		"a variant":                {[]string{"--platforms", "linux/arm/v7"}, `"linux/arm/v7" is not of the form`},
		"an unknown architecture":  {[]string{"--platforms", "linux/none"}, "build for linux/none"},
		"a program with an error":  {[]string{"--source", source(t, "package main\n")}, "build for linux/amd64"},
		"a bad version":            {[]string{"--version", "1"}, `"1" is not a valid version`},
		"something besides flags":  {[]string{"dev"}, "dev: unexpected argument"},
		"an unknown flag":          {[]string{"--nane", "x"}, "nane"},
		"no registry there":        {[]string{"--name", "localhost:1/templater:dev", "--push", "--platforms", "linux/amd64"}, "push localhost:1/templater:dev"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), append([]string{"--source", good, "--output", output}, test.args...), &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

// The Dockerfile is for users who build with Docker. It must produce the same image.
func TestDockerfileMatchesImage(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := strings.ReplaceAll(strings.ReplaceAll(string(text), "\\\n", ""), `"`, "")
	want := []string{"CGO_ENABLED=0", "go " + strings.Join(program.Args(""), " ") + " -o /templater ./cmd/templater", "USER 65532:65532\n", "ENTRYPOINT [/templater]\n"}
	for key, value := range program.Labels {
		want = append(want, key+"="+value)
	}
	for _, one := range want {
		if !strings.Contains(file, one) {
			t.Errorf("the Dockerfile lacks %q", one)
		}
	}
}
