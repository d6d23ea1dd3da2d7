package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// held says where each number of docs/reference/limits.md comes from: a constant of the code by its name, or a bound of a
// field of the CRD by its path.
var held = map[string]string{
	"Length of `metadata.name`":                    "rule metadata.name",
	"Length of `spec.className`":                   "crd className",
	"Child templates in `spec.children`":           "crd children",
	"Child templates in `spec.finalize.children`":  "crd finalize.children",
	"Length of the name of a child template":       "crd children.name",
	"Length of `readyWhen`":                        "crd children.readyWhen",
	"Names in `dependsOn`":                         "crd children.dependsOn",
	"Objects in `maxUnavailable`":                  "mostObjects",
	"Length of a template or of `spec.helpers`":    "crd helpers",
	"The same in bytes":                            "maxTemplate",
	"Nested blocks or parentheses":                 "maxNesting",
	"Actions and operands of all templates":        "maxOperands",
	"Keys and items of `spec.values`":              "maxValues in size.go",
	"Elements of `spec.related`":                   "crd related",
	"Names in `spec.related[NAME].namespaces`":     "crd related.namespaces",
	"Namespaces in all entries together":           "mostRelatedNamespaces",
	"Length of `spec.related[NAME].fieldSelector`": "crd related.fieldSelector",
	"Paths in `spec.related[NAME].watchFields`":    "crd related.watchFields",
	"Names in `spec.watch.namespaces`":             "crd watch.namespaces",
	"Labels and values of a label selector":        "mostSelected",
	"Length of `spec.watch.fieldSelector`":         "crd watch.fieldSelector",
	"Length of `spec.watch.filter`":                "crd watch.filter",
	"Length of `spec.status.readyCondition`":       "crd status.readyCondition",
	"Length of a delimiter":                        "crd delimiters.left",
	"Size of the schema in `spec.crd`":             "maxSize in definition.go",
	"Fields of `spec.crd.schema`":                  "maxFields",
	"Cost of a CEL rule in `spec.crd`":             "maxRuleCost",
	"The same of all its rules":                    "maxTotalCost",
	"CEL rules in `spec.crd`":                      "maxRules",
	"Values in a stored object, including defaults, when a new schema of `spec.crd` is checked": "maxCheckedValues",
	"Columns in `spec.crd`":                          "crd crd.columns",
	"Steps in `spec.rollout.steps`":                  "crd rollout.steps",
	"Stored revisions":                               "mostRevisions",
	"Minimum of `spec.resyncPeriod`":                 "leastPeriod",
	"Minimum of `spec.rollout.interval`":             "leastPeriod",
	"Minimum of `spec.finalize.timeout`":             "leastPeriod",
	"Work of a reconciliation":                       "MaxWork",
	"Memory for `spec.watch.filter`":                 "FreeBytes",
	"Output":                                         "maxOutput",
	"Objects of one child template per parent":       "maxDocuments",
	"Scalars, maps and lists in the output":          "maxNodes",
	"Nested `include`":                               "maxIncludes",
	"Levels of nested data":                          "MaxDepth",
	"Length of a regular expression":                 "longestExpression",
	"Instructions of a regular expression":           "largestExpression",
	"Width or precision in `printf`":                 "longestField",
	"Length of a version in `semver`":                "longestVersion",
	"Request time that a tenant can accumulate":      "creditLimit",
	"Time without requests of other tenants":         "recentWindow",
	"Pause after a throttled reconciliation":         "maxRest in worker.go",
	"NamespacedTemplateControllers of one":           "maxNamespaced",
	"Watches of all TemplateControllers":             "maxWatches",
	"Length of a key in a child or status":           "MaxKeyLength",
	"Levels of TemplateControllers":                  "deepest in factory.go",
	"Length of a `type` of a condition":              "longestType",
	"Length of its `reason`":                         "longestReason",
	"Length of its `message`":                        "maxMessageLength in words.go",
	"`logs.tailLines`":                               "crd related.logs.tailLines",
	"`logs.limitBytes`":                              "crd related.logs.limitBytes",
	"Bytes that are read to find these lines":        "MaxLogBytes",
	"Containers of one Pod":                          "maxContainers",
	"Concurrent requests for logs":                   "maxRequests",
	"The same for one tenant":                        "maxRequestsPerTenant",
	"Log requests of one tenant per second":          "requestsPerSecond",
	"All cached logs, each":                          "MaxHeldBytes",
	"All cached logs of one tenant":                  "MaxHeldBytesPerTenant",
	"Time for an answer of the API server":           "LogLimit",
	"Mappings that a `select` template renders":      "maxMappings",
	"The same as JSON":                               "maxText",
	"Memory for the selections of one parent":        "freeSize",
	"Length of a name or a namespace in a selection": "maxNameLength",
	"Keys and values of its `labelSelector`":         "maxLabels in selecttemplate.go",
	"Findings that are shown":                        "mostShown",
	"Length of a template that is read as YAML":      "maxSkeleton",
	"YAML documents in it":                           "maxSkeletons",
	"Memory for the schemas of kinds":                "maxTypeBytes",
	"Size of the schema of one kind":                 "MaxDocumentBytes",
	"Stored `.status` schemas":                       "maxSchemaBytes",
	"Levels of fields":                               "maxSchemaDepth",
	"Concurrent reviews in a replica":                "maxReviews in handler.go",
	"Requests that a replica receives":               "inboxLimit",
	"Size of one request":                            "bodyLimit",
	"Time to receive a request":                      "bodyTimeout",
	"Time for the answer":                            "answerLimit",
	"Errors in an answer":                            "maxErrors",
	"Warnings in an answer":                          "maxWarnings",
	"Validity of the certificate":                    "validFor",
	"Renewal before it expires":                      "renewBefore",
	"Parents that `templater diff` compares":         "atATime",
	"Files of a chart that `templater new` reads":    "maxFiles",
	"Size of one of them":                            "maxFile in load.go",
	"Number of keys":                                 "mostKeys",
	"Minimum length of a key":                        "shortestKey",
	"Digits of its name":                             "longestID",
	"Length of a message about a template":           "longestMessage in errors.go",
	"Length of an Event's note":                      "longestNote",
	"Objects that a message names":                   "maxListed",
	"Parents in `status.failing`":                    "mostFailing",
	"Burst of Events about one parent":               "objectEvents",
	"Event refill interval of one parent":            "objectEventEvery",
	"Burst of Events of one service account":         "accountEvents",
	"Event refill interval of one service account":   "accountEventEvery",
	"Repetition of the same Event":                   "repeatAfter",
	"Log lines per second about failing watches":     "linesPerSecond",
	"Burst of these":                                 "linesBurst",
	"First retry after a refused write":              "firstRetry",
	"Longest wait between such retries":              "lastRetry",
	"The same while a permission is missing":         "deniedRetry",
	"Longest wait of a parent if many":               "maxNamespaceDelay",
	"Retries of parents of one TemplateController":   "pacedPerSecond",
	"Longest wait of a parent that results":          "maxPacedDelay",
	"Retry while a kind or namespace":                "slowRetry",
	"Delay of the counts":                            "countsDelay",
	"Deletion of children whose parent was deleted":  "collectorTime",
	"Parents of one TemplateController per second":   "departuresPerSecond",
	"Concurrent deletions of children":               "DeletionsAtATime",
	"Writing reconciliations of one parent":          "loopBurst",
	"More of these for each object":                  "rolloutWrites",
	"During backoff, one more every":                 "loopRefill",
	"Requests of one tenant per second for watches":  "refusedPerSecond",
	"Timeout of non-watch requests":                  "RequestLimit",
	"Reconciliations may finish when":                "stopGrace",
	"A watch without an event, bookmark or restart":  "WatchLimit",
	"A worker without an answer":                     "WorkLimit",
}

// quotes are numbers in other pages, each as % in the words around it, and what they count: 0 for a number as it is.
var quotes = []struct {
	page, words, constant string
	unit                  int64
}{
	{"concepts/reconciling", "at most % parents a second", "departuresPerSecond", 0},
	{"concepts/reconciling", "the old one after % seconds", "collectorTime", 1e9},
	{"concepts/reconciling", "% seconds after it is served again", "collectorTime", 1e9},
	{"concepts/reconciling", "a conflict, or a missing namespace | every % seconds", "slowRetry", 1e9},
	{"concepts/reconciling", "| every % seconds, and immediately when a CRD", "slowRetry", 1e9},
	{"concepts/reconciling", "exponential backoff up to % seconds; the condition", "deniedRetry", 1e9},
	{"concepts/reconciling", "API discovery fails | every % seconds |", "unansweredRetry", 1e9},
	{"concepts/reconciling", "exponential backoff up to % minutes", "lastRetry", 60e9},
	{"concepts/reconciling", "at most % parents of a TemplateController per second", "pacedPerSecond", 0},
	{"concepts/reconciling", "A `message` of more than % bytes is cut", "maxMessageLength in words.go", 0},
	{"concepts/reconciling", "When % reconciliations of a parent have written", "loopBurst", 0},
	{"concepts/reconciling", "stop after % levels", "deepest in factory.go", 0},
	{"concepts/order", "as unavailable for % seconds after the change", "settleTime", 1e9},
	{"reference/templates", "up to % characters", "longestMessage in errors.go", 0},
	{"reference/troubleshooting", "is repeated every % minutes", "repeatAfter", 60e9},
	{"operate/high-availability", "only for % s after it sent", "fenceLimit", 1e9},
	{"operate/high-availability", "takes the Lease within % s after", "leaseDuration", 1e9},
	{"operate/high-availability", "renews the Lease every % s", "renewPeriod", 1e9},
	{"operate/high-availability", "more than % s are cut short", "stopGrace", 1e9},
	{"operate/high-availability", "does not release the TemplateController within % s", "handoverTime", 1e9},
	{"how-to/other-namespaces", "retries every % seconds", "slowRetry", 1e9},
	{"how-to/other-namespaces", "the remaining objects % seconds after the parent was deleted", "collectorTime", 1e9},
	{"operate/metrics", "did not answer within % seconds", "reviewTimeout in access.go", 1e9},
	{"operate/operations", "nor a bookmark for % minutes", "WatchLimit", 60e9},
	{"operate/operations", "has been busy for % minutes", "WorkLimit", 60e9},
	{"operate/operations", "API server answers within 0.% s", "askLimit", 1e7}, // 0.75 s
}

func TestPagesQuoteConstants(t *testing.T) {
	code := constants(t)
	for _, q := range quotes {
		value, found := code[lower(q.constant)]
		if !found {
			t.Errorf("no single %s in the code", q.constant)
			continue
		}
		text := strings.Replace(q.words, "%", thousands(value/max(q.unit, 1)), 1)
		if page := read(t, "docs/"+q.page+".md"); !strings.Contains(strings.Join(strings.Fields(page), " "), text) {
			t.Errorf("docs/%s.md does not say %q, as %s has it", q.page, text, q.constant)
		}
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

var limitRow = regexp.MustCompile(`(?m)^\| (.+) \| ([0-9][0-9,]*)(?: ([a-zA-Z]+))? \|$`)

// units are what a number on the page counts. A duration is in nanoseconds.
var units = map[string]int64{
	"": 1, "characters": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ms": 1e6, "s": 1e9, "min": 60e9, "days": 24 * 3600e9,
}

func TestLimitsPageMatchesConstants(t *testing.T) {
	code, bounds := constants(t), fieldBounds(t)
	unused := maps.Clone(held)
	for _, row := range limitRow.FindAllStringSubmatch(read(t, "docs/reference/limits.md"), -1) {
		label, where := row[1], ""
		for begin, source := range held {
			if strings.HasPrefix(label, begin) {
				where = source
				delete(unused, begin)
			}
		}
		number, err := strconv.ParseInt(strings.ReplaceAll(row[2], ",", ""), 10, 64)
		scale, known := units[row[3]]
		if where == "" || err != nil || !known {
			t.Errorf("%q: nothing holds this number", row[0])
			continue
		}
		want, found := code[lower(where)]
		if path, isField := strings.CutPrefix(where, "crd "); isField {
			want, found = bounds[path]
		} else if where == "rule metadata.name" {
			want, found = 63, strings.Contains(read(t, "config/crd/templater.dev_templatecontrollers.yaml"), "self.metadata.name.size() <= 63")
		}
		if !found {
			t.Errorf("%q: no single %s in the code", label, where)
		} else if number*scale != want {
			t.Errorf("%q: the page says %d, and %s is %d", label, number*scale, where, want)
		}
	}
	if len(unused) > 0 {
		t.Errorf("docs/reference/limits.md has no row for %q", slices.Sorted(maps.Keys(unused)))
	}
}

// lower is the name of a constant of which it is no matter whether other packages may use it.
func lower(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// constants returns the numbers that constants of the operator have, by name, which begins in lower case, where no other one has it, and by
// name and file. Durations are in nanoseconds.
func constants(t *testing.T) map[string]int64 {
	t.Helper()
	out, count := map[string]int64{}, map[string]int{}
	for _, folder := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
					for _, spec := range decl.Specs {
						for name, value := range numbers(spec.(*ast.ValueSpec)) {
							name = lower(name)
							out[name], out[name+" in "+filepath.Base(path)] = value, value
							count[name]++
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	maps.DeleteFunc(out, func(name string, _ int64) bool { return count[name] > 1 })
	maps.Copy(out, pageConstants(t))
	return out
}

var pageConstant = regexp.MustCompile(`(?m)^const (\w+) = ([0-9_]+);( // milliseconds )?`)

// pageConstants returns those of the page of the playground, by name and file.
func pageConstants(t *testing.T) map[string]int64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "internal", "cli", "playground", "page", "src", "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pageConstant.FindAllStringSubmatch(string(text), -1) {
			n, err := strconv.ParseInt(strings.ReplaceAll(match[2], "_", ""), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if match[3] != "" {
				n *= 1e6
			}
			out[match[1]+" in "+filepath.Base(file)] = n
		}
	}
	return out
}

var timeUnit = regexp.MustCompile(`time\.(Millisecond|Second|Minute|Hour)`)

// numbers returns the values of the constants that are numbers.
func numbers(spec *ast.ValueSpec) map[string]int64 {
	out := map[string]int64{}
	for i, expr := range spec.Values {
		text := timeUnit.ReplaceAllStringFunc(types.ExprString(expr), func(unit string) string {
			return map[string]string{"time.Millisecond": "1000000", "time.Second": "1000000000", "time.Minute": "60000000000", "time.Hour": "3600000000000"}[unit]
		})
		value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
		if err != nil || value.Value == nil {
			continue
		}
		if n, exact := constant.Int64Val(constant.ToInt(value.Value)); exact && value.Value.Kind() == constant.Int {
			out[spec.Names[i].Name] = n
		}
	}
	return out
}

// fieldBounds returns the bounds of the fields of the spec by their paths.
func fieldBounds(t *testing.T) map[string]int64 {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(read(t, "config/crd/templater.dev_templatecontrollers.yaml")), &crd); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	var walk func(path string, schema *apiextensionsv1.JSONSchemaProps)
	walk = func(path string, schema *apiextensionsv1.JSONSchemaProps) {
		for _, most := range []*int64{schema.MaxLength, schema.MaxItems} {
			if most != nil {
				out[strings.TrimPrefix(path, ".")] = *most
			}
		}
		if schema.Maximum != nil {
			out[strings.TrimPrefix(path, ".")] = int64(*schema.Maximum)
		}
		if schema.Items != nil && schema.Items.Schema.Properties != nil {
			schema = schema.Items.Schema
		}
		for name, field := range schema.Properties {
			walk(path+"."+name, &field)
		}
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	walk("", &spec)
	return out
}
