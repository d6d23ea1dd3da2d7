package helmtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) } // Helm logs warnings

// helm renders a snippet like Helm and parses the output like kubectl and Helm
// parse manifests. It omits empty documents.
func helm(ctx context.Context, s snippet) ([]any, error) {
	values, err := common.ReadValues(s.Values)
	if err != nil {
		return nil, err
	}
	const file = "templates/snippet.yaml"
	c := &chart.Chart{
		Metadata: &chart.Metadata{Name: "chart", APIVersion: "v2", Version: "1.0.0"},
		Templates: []*common.File{
			{Name: "templates/_helpers.tpl", Data: []byte(s.Helpers)},
			{Name: file, Data: []byte(s.manifest())},
		},
	}
	out, err := engine.Engine{}.RenderWithContext(ctx, c, common.Values{"Values": values})
	if err != nil {
		return nil, err
	}
	return parse(out["chart/"+file])
}

func parse(text string) ([]any, error) {
	var documents []any
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096)
	for {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		case document != nil:
			documents = append(documents, document)
		}
	}
}
