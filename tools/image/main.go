// Command image builds the container image of the operator as an OCI archive, without a container tool, and optionally
// pushes it to its registry. The same commit and Go version produce the same bytes.
//
//	go run . --name registry.example.org/templater:v1 --output templater.tar
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/templater-dev/templater/tools/image/archive"
	"github.com/templater-dev/templater/tools/image/program"
)

// options are the command line flags.
type options struct {
	source    string
	name      string
	version   string
	platforms string
	output    string
	push      bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.source, "source", "../..", "folder of the operator's module")
	flags.StringVar(&o.name, "name", "templater:dev", "name:tag of the image, with its registry if it is to be pushed")
	flags.StringVar(&o.version, "version", "", "what templater version is to say, such as v1.2.3; empty = what Go makes of the commit")
	flags.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "what to build for, separated by commas")
	flags.StringVar(&o.output, "output", "templater.tar", "archive to write")
	flags.BoolVar(&o.push, "push", false, "also push the image, with the credentials of docker login or podman login")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument", flags.Arg(0))
	}
	return o.make(ctx, out)
}

func (o options) make(ctx context.Context, out io.Writer) error {
	reference, err := name.NewTag(archive.Normalize(o.name))
	if err != nil {
		return fmt.Errorf("--name %s: %w", o.name, err)
	}
	var images []archive.Image
	for platform := range strings.SplitSeq(o.platforms, ",") {
		image, err := o.build(ctx, platform)
		if err != nil {
			return err
		}
		images = append(images, image)
	}
	index, err := archive.Index(images...)
	if err != nil {
		return err
	}
	if err := archive.WriteFile(o.output, index, o.name); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s, %s\n", o.output, archive.Normalize(o.name), digest)
	if !o.push {
		return nil
	}
	if err := remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", o.name, err)
	}
	fmt.Fprintf(out, "pushed %s\n", o.name)
	return nil
}

// build builds the operator for one platform, like the Dockerfile.
func (o options) build(ctx context.Context, text string) (archive.Image, error) {
	platform, err := program.ParsePlatform(text)
	if err != nil || platform.System != "linux" {
		return archive.Image{}, fmt.Errorf("--platforms: %q is not of the form linux/ARCHITECTURE, such as linux/arm64", text)
	}
	body, err := program.Build(ctx, o.source, platform, o.version)
	return program.Image(platform, body), err
}
