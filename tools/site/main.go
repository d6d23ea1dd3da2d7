// Command site builds a static site from the pages in docs: it stages them, renders them with Hugo, and then writes the
// search index and checks every link.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gohugoio/hugo/commands"

	"github.com/templater-dev/templater/tools/site/pages"
)

//go:embed all:theme
var theme embed.FS

func main() {
	docs := flag.String("docs", "../../docs", "the folder of the pages")
	output := flag.String("output", "../../.cache/site", "the folder to write; what is in it is removed")
	playground := flag.String("playground", "", "a folder with the playground, for /playground/; empty = none")
	flag.Parse()
	if err := run(*docs, *output, *playground); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(docs, output, playground string) error {
	output, err := filepath.Abs(output)
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "templater-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	files, err := fs.Sub(theme, "theme")
	if err != nil {
		return err
	}
	if err := os.CopyFS(stage, files); err != nil {
		return err
	}
	if err := pages.Stage(docs, filepath.Join(stage, "content")); err != nil {
		return err
	}
	if err := remove(output); err != nil {
		return err
	}
	if playground != "" {
		if err := os.CopyFS(filepath.Join(stage, "static", "playground"), os.DirFS(playground)); err != nil {
			return err
		}
	}
	args := []string{"--source", stage, "--destination", output, "--panicOnWarning", "--noBuildLock", "--logLevel", "warn"}
	if err := commands.Execute(args); err != nil {
		return err
	}
	site, err := pages.Open(output)
	if err != nil {
		return err
	}
	if dead := site.DeadLinks(); len(dead) > 0 {
		return errors.New("dead links:\n  " + strings.Join(dead, "\n  "))
	}
	malformed, err := site.Malformed()
	if err != nil {
		return err
	}
	if len(malformed) > 0 {
		return errors.New("malformed HTML:\n  " + strings.Join(malformed, "\n  "))
	}
	if err := site.WriteIndex(filepath.Join(output, "search-index.js")); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%d pages, open %s\n", len(site.Pages), filepath.Join(output, "index.html"))
	return nil
}

// remove removes the site of an earlier run; it refuses a folder that is not a site.
func remove(output string) error {
	entries, err := os.ReadDir(output)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(output, "search-index.js")); err != nil {
		if _, err := os.Stat(filepath.Join(output, "index.html")); err != nil {
			return fmt.Errorf("%s is not a generated site: use another --output", output)
		}
	}
	return os.RemoveAll(output)
}
