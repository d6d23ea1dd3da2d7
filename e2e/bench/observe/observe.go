// Package observe watches objects as cheaply as possible: the API server encodes each change once for all plain JSON
// watches, so another watch costs it little, and only a few fields of each object are decoded.
package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Object holds the decoded fields of an object.
type Object struct {
	Metadata struct {
		Name            string `json:"name"`
		UID             string `json:"uid"`
		Generation      int64  `json:"generation"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Data   map[string]string `json:"data"`
	Status struct {
		Color      string      `json:"color"`
		Children   any         `json:"children"` // names in a parent, counts in a TemplateController
		Phases     []string    `json:"phases"`
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// Condition is a condition in a status.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// Is reports whether the condition is True and observed the current generation.
func (o *Object) Is(condition string) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True" && c.ObservedGeneration == o.Metadata.Generation
		}
	}
	return false
}

// Set selects the objects of a resource that match the selector, in one namespace or in all.
type Set struct {
	Resource  schema.GroupVersionResource
	Namespace string
	Selector  string // label selector
}

func (s Set) path() string {
	parts := []string{"/apis", s.Resource.Group, s.Resource.Version}
	if s.Resource.Group == "" {
		parts = []string{"/api", s.Resource.Version}
	}
	if s.Namespace != "" {
		parts = append(parts, "namespaces", s.Namespace)
	}
	return strings.Join(append(parts, s.Resource.Resource), "/")
}

// Client lists and watches objects. It is safe for concurrent use.
type Client struct {
	http *http.Client
	host string
}

// NewClient returns a client for the cluster.
func NewClient(config *rest.Config) (*Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return &Client{client, strings.TrimSuffix(config.Host, "/")}, nil
}

// List is a list of objects, with the resource version to watch from.
type List struct {
	Version string
	Items   []Object
}

// List returns the objects of a set.
func (c *Client) List(ctx context.Context, set Set) (List, error) {
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []Object `json:"items"`
	}
	err := c.get(ctx, set, url.Values{}, func(body io.Reader) error { return json.NewDecoder(body).Decode(&list) })
	return List{list.Metadata.ResourceVersion, list.Items}, err
}

// Version returns the resource version to watch from.
func (c *Client) Version(ctx context.Context, set Set) (string, error) {
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	err := c.get(ctx, set, url.Values{"limit": {"1"}}, func(body io.Reader) error { return json.NewDecoder(body).Decode(&list) })
	return list.Metadata.ResourceVersion, err
}

// Sizes returns the sizes, in bytes, of at most limit objects as the server delivers them.
func (c *Client) Sizes(ctx context.Context, set Set, limit int) ([]float64, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	err := c.get(ctx, set, url.Values{"limit": {fmt.Sprint(limit)}}, func(body io.Reader) error { return json.NewDecoder(body).Decode(&list) })
	sizes := make([]float64, len(list.Items))
	for i, item := range list.Items {
		sizes[i] = float64(len(item))
	}
	return sizes, err
}

func (c *Client) get(ctx context.Context, set Set, query url.Values, read func(io.Reader) error) error {
	if set.Selector != "" {
		query.Set("labelSelector", set.Selector)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.host+set.path()+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("read %s: %w", set.Resource.Resource, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("read %s: the API server returned %s", set.Resource.Resource, response.Status)
	}
	if err := read(response.Body); err != nil {
		return fmt.Errorf("read %s: %w", set.Resource.Resource, err)
	}
	return nil
}
