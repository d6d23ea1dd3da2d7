// Command release writes the files of a release into a folder: programs, the kubectl plugin, the image, install.yaml,
// the Helm chart, the list of modules and the checksums. The same commit, version and Go version produce the same
// bytes.
//
//	go run . --version v1.2.3 --output ../../dist
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/templater-dev/templater/tools/image/program"
	"github.com/templater-dev/templater/tools/release/commit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // the process ends anyway
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	r := release{out: out, sums: map[string]string{}}
	var asked commit.Asked
	var platforms string
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&r.source, "source", "../..", "folder of the repository")
	flags.StringVar(&asked.Version, "version", "", "tag of the commit, such as v1.2.3; empty = the one that it has, or else v0.0.0-gCOMMIT")
	flags.BoolVar(&asked.Dirty, "dirty", false, "release files that differ from the commit, too, under a version that ends with -dirty")
	flags.StringVar(&r.baseURL, "base-url", "", "URL of the folder that the files will be in; empty = that of the version at "+project)
	flags.StringVar(&r.image.Repository, "image", "", "image without tag, such as registry.example.org/templater")
	flags.StringVar(&platforms, "platforms", "", "what to build for, separated by commas; the image has those of Linux")
	flags.StringVar(&r.folder, "output", "", "folder to write to, which is emptied first")
	flags.BoolVar(&r.push, "push", false, "also push the image, with the credentials of docker login or podman login")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument", flags.Arg(0))
	}
	for _, name := range []string{"image", "platforms", "output"} {
		if flags.Lookup(name).Value.String() == "" {
			return fmt.Errorf("--%s: give %s", name, flags.Lookup(name).Usage)
		}
	}
	var err error
	if r.version, err = commit.Version(ctx, r.source, asked); err != nil {
		return err
	}
	if r.baseURL == "" {
		r.baseURL = project + "/releases/download/" + r.version
	}
	if !strings.HasPrefix(r.baseURL, "https://") {
		return fmt.Errorf("--base-url %s: must start with https://", r.baseURL)
	}
	r.baseURL = strings.TrimSuffix(r.baseURL, "/")
	if r.platforms, err = parsePlatforms(platforms); err != nil {
		return fmt.Errorf("--platforms: %w", err)
	}
	fmt.Fprintf(out, "release %s: a program for each of %s, which takes minutes for each the first time\n", r.version, platforms)
	return r.make(ctx)
}

// parsePlatforms parses the platforms to build for. One of them must be a Linux platform.
func parsePlatforms(text string) ([]program.Platform, error) {
	var platforms []program.Platform
	for one := range strings.SplitSeq(text, ",") {
		platform, err := program.ParsePlatform(one)
		if err != nil {
			return nil, err
		}
		platforms = append(platforms, platform)
	}
	if !slices.ContainsFunc(platforms, func(p program.Platform) bool { return p.System == "linux" }) {
		return nil, fmt.Errorf("%s: include a Linux platform, for the image", text)
	}
	return platforms, nil
}
