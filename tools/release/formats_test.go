package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/templater-dev/templater/tools/image/program"
)

// checkFormats checks that the archive of each platform begins with a program for that platform.
func checkFormats(t *testing.T, files map[string][]byte, platforms []program.Platform) {
	t.Helper()
	for _, p := range platforms {
		name := "templater_v1.2.3_" + p.System + "_" + p.Architecture
		body, err := firstOf(files, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := format(p.System, body)
		if want := formats[p.String()]; err != nil || got != want {
			t.Errorf("%s: the program is one of %s, want %s: error %v", name, got, want, err)
		}
	}
}

// formats are the executable formats of systems and architectures.
var formats = map[string]string{
	"linux/amd64": "EM_X86_64", "linux/arm64": "EM_AARCH64", "darwin/amd64": "CpuAmd64", "darwin/arm64": "CpuArm64", "windows/amd64": "0x8664", "windows/arm64": "0xaa64",
}

// format returns the architecture of a program for a system.
func format(system string, body []byte) (string, error) {
	switch r := bytes.NewReader(body); system {
	case "darwin":
		f, err := macho.NewFile(r)
		if err != nil {
			return "", err
		}
		return f.Cpu.String(), nil
	case "windows":
		f, err := pe.NewFile(r)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%#x", f.Machine), nil
	default:
		f, err := elf.NewFile(r)
		if err != nil {
			return "", err
		}
		return f.Machine.String(), nil
	}
}

// firstOf returns the first file of an archive.
func firstOf(files map[string][]byte, name string) ([]byte, error) {
	if strings.Contains(name, "windows") {
		packed := files[name+".zip"]
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			return nil, err
		}
		open, err := r.File[0].Open()
		if err != nil {
			return nil, err
		}
		return io.ReadAll(open)
	}
	open, err := gzip.NewReader(bytes.NewReader(files[name+".tar.gz"]))
	if err != nil {
		return nil, err
	}
	r := tar.NewReader(open)
	if _, err := r.Next(); err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
