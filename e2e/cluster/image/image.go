// Package image writes one-layer container images as archives that containerd
// imports, without a registry or a container tool. Equal input gives equal bytes.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Image describes an image of one layer.
type Image struct {
	Tags       []string // name:tag; a missing registry means docker.io/library
	Entrypoint []string
	Cmd        []string
	User       string // uid:gid; empty means root
	Env        []string
	Files      []File
}

// File is one entry of the layer. Link makes it a symbolic link, a nil Body
// and no Link a folder.
type File struct {
	Path string // without leading slash
	Mode int64
	Link string
	Body []byte
}

type config struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Created      string    `json:"created"`
	Config       runConfig `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
	History      []history `json:"history"`
}

type runConfig struct {
	User       string   `json:",omitempty"`
	Env        []string `json:",omitempty"`
	Entrypoint []string `json:",omitempty"`
	Cmd        []string `json:",omitempty"`
	WorkingDir string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created string `json:"created"`
}

type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

const epoch = "1970-01-01T00:00:00Z"

// WriteFile writes the archive of the image to path, by way of a temporary
// file, so that path never holds half an image.
func (i Image) WriteFile(path string) error {
	var out bytes.Buffer
	if err := i.Write(&out); err != nil {
		return fmt.Errorf("write image %s: %w", path, err)
	}
	if err := os.WriteFile(path+".tmp", out.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Write writes the archive of the image.
func (i Image) Write(w io.Writer) error {
	layer, err := archive(i.Files)
	if err != nil {
		return err
	}
	configJSON, err := json.Marshal(i.config(layer))
	if err != nil {
		return err
	}
	tags := make([]string, len(i.Tags))
	for n, tag := range i.Tags {
		tags[n] = Normalize(tag)
	}
	manifestJSON, err := json.Marshal([]manifest{{Config: "config.json", RepoTags: tags, Layers: []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	all, err := archive([]File{
		{Path: "manifest.json", Mode: 0o644, Body: manifestJSON},
		{Path: "config.json", Mode: 0o644, Body: configJSON},
		{Path: "layer.tar", Mode: 0o644, Body: layer},
	})
	if err != nil {
		return err
	}
	_, err = w.Write(all)
	return err
}

func (i Image) config(layer []byte) config {
	env := i.Env
	if env == nil {
		env = []string{"PATH=/usr/local/bin:/bin:/sbin:/usr/bin:/usr/sbin"}
	}
	return config{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Created:      epoch,
		Config:       runConfig{User: i.User, Env: env, Entrypoint: i.Entrypoint, Cmd: i.Cmd, WorkingDir: "/"},
		RootFS:       rootFS{Type: "layers", DiffIDs: []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
		History:      []history{{Created: epoch}},
	}
}

func archive(files []File) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range files {
		if err := w.WriteHeader(file.header()); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.Body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func (f File) header() *tar.Header {
	h := &tar.Header{Name: f.Path, Mode: f.Mode, Typeflag: tar.TypeReg, Size: int64(len(f.Body))}
	switch {
	case f.Link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
	case f.Body == nil:
		h.Typeflag, h.Name = tar.TypeDir, strings.TrimSuffix(f.Path, "/")+"/"
	}
	return h
}

// Normalize gives name the registry, folder and tag that the kubelet adds to
// a short name: busybox becomes docker.io/library/busybox:latest.
func Normalize(name string) string {
	first, rest, slash := strings.Cut(name, "/")
	switch {
	case !slash:
		name = "docker.io/library/" + name
	case first != "localhost" && !strings.ContainsAny(first, ".:"):
		name = "docker.io/" + first + "/" + rest
	}
	if !strings.Contains(filepath.Base(name), ":") {
		name += ":latest"
	}
	return name
}
