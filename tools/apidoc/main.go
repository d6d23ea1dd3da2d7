// Command apidoc writes the reference of the API, in Markdown, from the Go types and their comments. A table
// for each struct has its fields in the order of the source, which the CRD does not keep.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	types := flag.String("types", "api/v1", "the folder of the Go types")
	output := flag.String("output", "docs/reference/api.md", "the file to write")
	flag.Parse()
	if err := run(*types, *output); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

func run(types, output string) error {
	source, err := read(types)
	if err != nil {
		return err
	}
	page, err := source.page("TemplateController")
	if err != nil {
		return err
	}
	return os.WriteFile(output, page, 0o644) //nolint:gosec // because a page of the docs is for everyone to read
}
