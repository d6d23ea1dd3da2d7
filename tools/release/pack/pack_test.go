package pack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var files = []File{{"b/program", 0o755, []byte("run")}, {"LICENSE", 0o644, []byte("free")}}

func want() map[string]string {
	return map[string]string{"b/program": "-rwxr-xr-x run", "LICENSE": "-rw-r--r-- free"}
}

func TestTarGz(t *testing.T) {
	packed, err := TarGz(files...)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := TarGz(files...); !bytes.Equal(packed, again) {
		t.Error("equal files give different archives")
	}
	from, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if from.Name != "" || !from.ModTime.IsZero() {
		t.Errorf("the archive header has %q and %s", from.Name, from.ModTime)
	}
	got := map[string]string{}
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil || header.Uid != 0 || header.Uname != "" || !header.ModTime.Equal(epoch) {
			t.Errorf("%s: got %+v and error %v", header.Name, header, err)
		}
		got[header.Name] = header.FileInfo().Mode().String() + " " + string(body)
	}
	if diff := cmp.Diff(want(), got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestZip(t *testing.T) {
	packed, err := Zip(files...)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Zip(files...); !bytes.Equal(packed, again) {
		t.Error("equal files give different archives")
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range r.File {
		open, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(open)
		if err != nil || !file.Modified.Equal(epoch) {
			t.Errorf("%s: got %+v and error %v", file.Name, file.FileHeader, err)
		}
		got[file.Name] = file.Mode().String() + " " + string(body)
	}
	if diff := cmp.Diff(want(), got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	long := File{Path: strings.Repeat("x", 300), Mode: 0o644}
	if _, err := TarGz(long); err == nil || !strings.Contains(err.Error(), "pack xxx") {
		t.Errorf("a name that a tar cannot hold: got error %v", err)
	}
	long.Path = strings.Repeat("x", 1<<16)
	if _, err := Zip(long); err == nil {
		t.Error("a name that a zip cannot hold: got no error")
	}
}
