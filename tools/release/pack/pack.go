// Package pack writes reproducible archives, whose bytes depend only on their content.
package pack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"time"
)

// File is a file of an archive.
type File struct {
	Path string      // slash-separated, without a leading slash
	Mode fs.FileMode // 0o755 for programs, 0o644 for the rest
	Body []byte
}

// epoch is the modification time of all files: the earliest that a zip supports.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// TarGz returns a gzipped tar of the files, in that order.
func TarGz(files ...File) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: int64(f.Mode), Size: int64(len(f.Body)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Path, err)
		}
		if _, err := w.Write(f.Body); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return out.Bytes(), err
}

// Zip returns a zip of the files, in that order.
func Zip(files ...File) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: epoch}
		header.SetMode(f.Mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Path, err)
		}
		if _, err := entry.Write(f.Body); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Path, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
