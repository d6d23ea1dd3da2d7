package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/templater-dev/templater/tools/image/archive"
	"github.com/templater-dev/templater/tools/image/program"
	"github.com/templater-dev/templater/tools/release/chart"
	"github.com/templater-dev/templater/tools/release/first"
	"github.com/templater-dev/templater/tools/release/license"
	"github.com/templater-dev/templater/tools/release/manifest"
	"github.com/templater-dev/templater/tools/release/pack"
	"github.com/templater-dev/templater/tools/release/sbom"
)

// project is the URL of the project.
const project = "https://github.com/templater-dev/templater"

// File names of a release. Some contain the version, because users keep several of them. sumsFile is written last.
const (
	programName  = "templater" // krew calls it kubectl-templater
	installFile  = "install.yaml"
	firstFile    = "first.yaml"
	objectFile   = "first-object.yaml"
	pluginFile   = "templater.krew.yaml"
	textsFile    = "THIRD-PARTY-LICENSES"
	sumsFile     = "SHA256SUMS"
	programsName = "templater_%s_%s_%s" // version, system, architecture
)

// release is the release being built. It holds the results that later steps need.
type release struct {
	source, version, baseURL, folder string
	platforms                        []program.Platform
	image                            manifest.Image
	push                             bool
	out                              io.Writer

	modules  []license.Module
	programs []sbom.Program
	images   []archive.Image
	archives []platformArchive
	sums     map[string]string // by file name, in hexadecimal
}

// platformArchive is the archive with the program for a platform.
type platformArchive struct {
	platform program.Platform
	name     string
}

// make builds everything, step by step.
func (r *release) make(ctx context.Context) error {
	if err := r.empty(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.buildPage, r.findLicenses, r.buildPrograms, r.writeImage, r.writeManifests, r.writeLists} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// empty removes the files of an earlier release, and nothing else.
func (r *release) empty() error {
	entries, err := os.ReadDir(r.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = os.Stat(filepath.Join(r.folder, sumsFile))
	if len(entries) > 0 && err != nil {
		return fmt.Errorf("--output %s: there are files in it, and none is %s: give an empty folder, or that of an earlier release", r.folder, sumsFile)
	}
	// An empty list of checksums marks the folder in case the release is interrupted.
	return errors.Join(os.RemoveAll(r.folder), os.MkdirAll(r.folder, 0o755), os.WriteFile(filepath.Join(r.folder, sumsFile), nil, 0o644))
}

// buildPage builds the page of the playground, which is embedded in the program but not checked in.
func (r *release) buildPage(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "run", "./tools/playground")
	build.Dir = r.source
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("make the page of the playground: %w: %s", err, out)
	}
	return nil
}

// tag is the build tag that embeds the page of the playground.
const tag = "playground"

// findLicenses finds the licenses of all modules, and writes the texts that must be distributed with the programs.
func (r *release) findLicenses(ctx context.Context) (err error) {
	programs := []license.Program{{Package: "./cmd/playground", Platform: program.Platform{System: "js", Architecture: "wasm"}}}
	for _, p := range r.platforms {
		programs = append(programs, license.Program{Package: "./cmd/templater", Platform: p, Tags: tag})
	}
	if r.modules, err = license.Of(ctx, r.source, programs...); err != nil {
		return err
	}
	return r.write(textsFile, license.Texts(r.modules))
}

// buildPrograms builds the program for each platform.
func (r *release) buildPrograms(ctx context.Context) error {
	own, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}
	texts := license.Texts(r.modules)
	for _, p := range r.platforms {
		body, err := program.Build(ctx, r.source, p, r.version, tag)
		if err != nil {
			return err
		}
		r.programs = append(r.programs, sbom.Program{Name: p.String(), Body: body})
		if p.System == "linux" {
			image := program.Image(p, body)
			image.Files = append(image.Files, archive.File{Path: "LICENSE", Mode: 0o644, Body: own}, archive.File{Path: textsFile, Mode: 0o644, Body: texts})
			r.images = append(r.images, image)
		}
		if err := r.pack(p, body, pack.File{Path: "LICENSE", Mode: 0o644, Body: own}, pack.File{Path: textsFile, Mode: 0o644, Body: texts}); err != nil {
			return err
		}
	}
	return nil
}

// pack writes the archive of a platform: its program, and other files.
func (r *release) pack(p program.Platform, body []byte, others ...pack.File) error {
	packed, ending := pack.TarGz, ".tar.gz"
	if p.System == "windows" {
		packed, ending = pack.Zip, ".zip"
	}
	content, err := packed(append([]pack.File{{Path: p.File(programName), Mode: 0o755, Body: body}}, others...)...)
	if err != nil {
		return err
	}
	file := fmt.Sprintf(programsName, r.version, p.System, p.Architecture) + ending
	r.archives = append(r.archives, platformArchive{p, file})
	return r.write(file, content)
}

// writeImage writes the multi-architecture image, and records its digest.
func (r *release) writeImage(ctx context.Context) error {
	tagged := r.image.Repository + ":" + r.version
	reference, err := name.NewTag(archive.Normalize(tagged))
	if err != nil {
		return fmt.Errorf("--image %s: %w", r.image.Repository, err)
	}
	index, err := archive.Index(r.images...)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	r.image.Digest = digest.String()
	file := "templater_" + r.version + "_image.tar"
	if err := archive.WriteFile(filepath.Join(r.folder, file), index, tagged); err != nil {
		return err
	}
	body, err := os.ReadFile(filepath.Join(r.folder, file))
	if err != nil {
		return err
	}
	r.note(file, body)
	if !r.push {
		return nil
	}
	if err := remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", tagged, err)
	}
	fmt.Fprintf(r.out, "pushed %s\n", tagged)
	return nil
}

// writeManifests writes install.yaml, the chart, and the manifests for the first steps.
func (r *release) writeManifests(context.Context) error {
	objects, err := manifest.Objects(r.source, r.image)
	if err != nil {
		return err
	}
	text, err := manifest.Text("templater "+r.version+": kubectl apply -f "+installFile, objects)
	if err != nil {
		return err
	}
	files, err := chart.Make(objects, r.image, r.version)
	if err != nil {
		return err
	}
	packed, err := pack.TarGz(files...)
	if err != nil {
		return err
	}
	controller, err := first.Controller(r.source, "Behind "+installFile+": a first kind, its TemplateController, and their RBAC rules")
	if err != nil {
		return err
	}
	object, err := first.Object(r.source)
	if err != nil {
		return err
	}
	return errors.Join(r.write(installFile, text), r.write(firstFile, controller), r.write(objectFile, object), r.write("templater-chart_"+r.version+".tgz", packed))
}

// writeLists writes the krew manifest, the list of modules, and the checksums.
func (r *release) writeLists(context.Context) error {
	licenses := map[string]string{}
	for _, m := range r.modules {
		licenses[m.Name] = m.License
	}
	modules, err := sbom.Make(sbom.Release{Name: "templater", Version: r.version, URL: r.baseURL, Programs: r.programs, Licenses: licenses})
	if err != nil {
		return err
	}
	plugin, err := r.krew()
	if err != nil {
		return err
	}
	if err := errors.Join(r.write("templater_"+r.version+".spdx.json", modules), r.write(pluginFile, plugin)); err != nil {
		return err
	}
	var sums strings.Builder
	for _, file := range slices.Sorted(maps.Keys(r.sums)) {
		fmt.Fprintf(&sums, "%s  %s\n", r.sums[file], file)
	}
	return r.write(sumsFile, []byte(sums.String()))
}

// write writes a file of the release.
func (r *release) write(file string, body []byte) error {
	if err := os.WriteFile(filepath.Join(r.folder, file), body, 0o644); err != nil {
		return err
	}
	r.note(file, body)
	return nil
}

// note records the checksum of a file, and reports it.
func (r *release) note(file string, body []byte) {
	sum := sha256.Sum256(body)
	r.sums[file] = hex.EncodeToString(sum[:])
	fmt.Fprintf(r.out, "%s  %8.1f MB\n", filepath.Join(r.folder, file), float64(len(body))/1e6)
}
