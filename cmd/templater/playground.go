package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/playground/page"
	"github.com/templater-dev/templater/internal/operator/serve"
)

func newPlaygroundCommand() *cobra.Command {
	port := 8090
	cmd := &cobra.Command{
		Use:   "playground",
		Short: "Try TemplateControllers in a browser, without a cluster",
		Long: `Serve the playground on localhost. It has editors for the TemplateController, the
parent and other objects on one side, and shows the result on the other side as you
type: children, status, findings with their positions, and a graph of dependencies.

Everything runs in the browser. The page is served on 127.0.0.1, and on ::1 if
available, and is read-only. It is served until the command is stopped, for example
with Ctrl-C.`,
		Example: `  templater playground
  templater playground --port 0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return servePlayground(cmd.Context(), cmd.OutOrStdout(), page.Files(), port)
		},
	}
	cli.AddNumber(cmd.Flags(), &port, "port", 0, math.MaxUint16, "port to serve the page on; 0 = any free port")
	return cmd
}

// servePlayground serves the page until ctx is done.
func servePlayground(ctx context.Context, out io.Writer, files fs.FS, port int) error {
	if files == nil {
		return errors.New("this binary was built without the playground: build it with \"make build\", or use a release")
	}
	handler := page.Handler(files)
	server, err := serve.Listen(ctx, serve.Options{Name: "the playground", Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Handler: handler})
	if err != nil {
		return fmt.Errorf("%w: choose another port with --port", err)
	}
	defer server.Close(ctx)
	_, at, err := net.SplitHostPort(server.Address())
	if err != nil {
		return err
	}
	// An error means that ::1 is not available, or that the port is in use there.
	if other, err := serve.Listen(ctx, serve.Options{Name: "the playground", Address: net.JoinHostPort("::1", at), Handler: handler}); err == nil {
		defer other.Close(ctx)
	}
	if _, err := fmt.Fprintf(out, "Serving the playground at http://127.0.0.1:%s/ (press Ctrl-C to stop)\n", at); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
