// Package archive writes single-layer container images as OCI archives, without a registry or a container tool. Equal
// input gives equal bytes.
package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image describes a single-layer image for one platform.
type Image struct {
	Architecture string // as in GOARCH, empty means this machine's; the operating system is always Linux
	Entrypoint   []string
	Cmd          []string
	User         string   // uid:gid; empty means root
	Env          []string // nil means the default PATH
	Labels       map[string]string
	Files        []File
}

// File is an entry of the layer: a symbolic link if Link is set, else a folder if Body is nil.
type File struct {
	Path string // without a leading slash
	Mode int64
	Link string
	Body []byte
}

// Annotations with the name of an image in an archive, for tools that import it.
const (
	nameAnnotation = "io.containerd.image.name"
	tagAnnotation  = "org.opencontainers.image.ref.name"
)

// WriteFile writes an archive of this image only. See the function WriteFile.
func (i Image) WriteFile(file string, names ...string) error {
	index, err := Index(i)
	if err != nil {
		return err
	}
	return WriteFile(file, index, names...)
}

// WriteFile writes an archive of the index under all names, each a name:tag that is normalized first. It writes to a
// temporary file and renames it, so that file is never incomplete.
func WriteFile(file string, index v1.ImageIndex, names ...string) error {
	out, err := write(index, names)
	if err != nil {
		return fmt.Errorf("write image %s: %w", file, err)
	}
	if err := os.WriteFile(file+".tmp", out, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}

func write(index v1.ImageIndex, names []string) (out []byte, err error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := os.RemoveAll(dir); err == nil {
			err = failed
		}
	}()
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		full := Normalize(name)
		annotations := map[string]string{nameAnnotation: full, tagAnnotation: full[strings.LastIndex(full, ":")+1:]}
		if err := written.AppendIndex(index, layout.WithAnnotations(annotations)); err != nil {
			return nil, err
		}
	}
	files, err := fromFolder(dir)
	if err != nil {
		return nil, err
	}
	for i := range files { // regardless of the umask
		files[i].Mode = 0o755
		if files[i].Body != nil {
			files[i].Mode = 0o644
		}
	}
	return pack(files)
}

// Index returns the index of images with different architectures, in that order.
func Index(images ...Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		image.Architecture = cmp.Or(image.Architecture, runtime.GOARCH)
		built, err := image.build()
		if err != nil {
			return nil, fmt.Errorf("make the image for %s: %w", image.Architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        built,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: image.Architecture}},
		})
	}
	return index, nil
}

func (i Image) build() (v1.Image, error) {
	content, err := pack(i.Files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), i.config())
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}}})
}

// epoch is the creation time of all images.
var epoch = time.Unix(0, 0).UTC()

func (i Image) config() *v1.ConfigFile {
	env := i.Env
	if env == nil {
		env = []string{"PATH=/usr/local/bin:/bin:/sbin:/usr/bin:/usr/sbin"}
	}
	return &v1.ConfigFile{
		Architecture: i.Architecture,
		OS:           "linux",
		Created:      v1.Time{Time: epoch},
		RootFS:       v1.RootFS{Type: "layers"},
		Config:       v1.Config{User: i.User, Env: env, Entrypoint: i.Entrypoint, Cmd: i.Cmd, Labels: i.Labels, WorkingDir: "/"},
	}
}

// pack returns a reproducible tar of the files.
func pack(files []File) ([]byte, error) {
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

// Normalize adds the registry, folder and tag that the kubelet adds to a short name: busybox becomes
// docker.io/library/busybox:latest.
func Normalize(name string) string {
	first, rest, slash := strings.Cut(name, "/")
	switch {
	case !slash:
		name = "docker.io/library/" + name
	case first != "localhost" && !strings.ContainsAny(first, ".:"):
		name = "docker.io/" + first + "/" + rest
	}
	if !strings.Contains(path.Base(name), ":") {
		name += ":latest"
	}
	return name
}
