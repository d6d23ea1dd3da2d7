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
	"Length of `metadata.name`":                         "rule metadata.name",
	"Length of `spec.className`":                        "crd className",
	"Entries of `spec.children`":                        "crd children",
	"Entries of `spec.finalize.children`":               "crd finalize.children",
	"Length of the name of an entry":                    "crd children.name",
	"Length of the `readyWhen` of an entry":             "crd children.readyWhen",
	"Names in the `dependsOn` of an entry":              "crd children.dependsOn",
	"Length of a template or of `spec.helpers`":         "crd helpers",
	"The same in bytes":                                 "maxTemplate",
	"Blocks, or parentheses, nested in a template":      "maxNesting",
	"Actions and operands of all templates":             "maxOperands",
	"Keys and items of `spec.values`":                   "maxValues",
	"Entries of `spec.related`":                         "crd related",
	"Names in the `namespaces` of such an entry":        "crd related.namespaces",
	"The same of all entries together":                  "mostRelatedNamespaces",
	"Length of its `fieldSelector`":                     "crd related.fieldSelector",
	"Paths in its `watchFields`":                        "crd related.watchFields",
	"Containers of one Pod that are looked at":          "mostContainers",
	"Length of the name of one":                         "longestContainer",
	"Length of its ID":                                  "longestRun",
	"Mappings that a select template yields":            "mostMappings",
	"All of these as JSON text":                         "mostText",
	"Memory for what all select templates yield":        "freeSize",
	"Length of a name or a namespace in one":            "longestName",
	"Keys and values of its `labelSelector`":            "mostLabels in compile.go",
	"Labels by which the objects of a watch":            "mostLabels in objectindex.go",
	"Until a label by which no objects":                 "labelIdle",
	"Names in `spec.watch.namespaces`":                  "crd watch.namespaces",
	"Labels and values of a label selector":             "mostSelected",
	"Length of `spec.watch.fieldSelector`":              "crd watch.fieldSelector",
	"Length of `spec.watch.filter`":                     "crd watch.filter",
	"Length of `spec.status.readyCondition`":            "crd status.readyCondition",
	"Length of a delimiter":                             "crd delimiters.left",
	"Parents that `templater diff` compares at a time":  "atATime",
	"Objects that it asks the API server for at a time": "pageSize",
	"Files of a chart that `templater new` reads":       "maxFiles",
	"Size of one of them":                               "maxFile in load.go",
	"Length of the line that says why a command":        "longestError",
	"Keys in it":                                                 "mostKeys",
	"Length of a key, at least":                                  "shortestKey",
	"Digits of the number that is its name":                      "longestID",
	"Least `spec.resyncPeriod`":                                  "leastPeriod",
	"Least `spec.finalize.timeout`":                              "leastPeriod",
	"Work of a reconciliation":                                   "MaxWork",
	"Memory for `spec.watch.filter` for one object":              "FreeBytes",
	"Text written":                                               "maxOutput",
	"Objects of one entry for one parent":                        "maxDocuments",
	"Scalars, maps and lists written":                            "maxNodes",
	"`include` within `include`":                                 "maxIncludes",
	"Levels of nested data":                                      "MaxDepth",
	"Length of a regular expression":                             "longestExpression",
	"Instructions of a regular expression":                       "largestExpression",
	"Width or precision in `printf`":                             "longestField",
	"Length of a version in `semver`":                            "longestVersion",
	"Findings that are collected":                                "maxFindings",
	"Length of a key in a child or status":                       "LongestKey",
	"TemplateControllers that make children for each other":      "deepest in factory.go",
	"Length of the name that `dnsLabel` makes":                   "longestLabel",
	"Length of a condition's `type`":                             "longestType",
	"Length of its `reason`":                                     "longestReason",
	"Length of its `message`":                                    "longestMessage in words.go",
	"Times that the children are rendered":                       "mostLooks",
	"Lines of a log":                                             "crd related.logs.tailLines",
	"Bytes of these, `logs.limitBytes`":                          "crd related.logs.limitBytes",
	"Bytes of a log that are read at a time":                     "MostLogRead",
	"Requests for logs under way":                                "mostAtOnce",
	"The same for one tenant":                                    "mostOfTenant",
	"Requests for logs for one tenant":                           "requestsPerSecond",
	"The same in a row":                                          "requestBurst",
	"All logs that templater keeps":                              "MostHeld",
	"All logs of one tenant":                                     "MostHeldOfTenant",
	"What each log counts besides":                               "perLog",
	"The API server has for a log":                               "LogLimit",
	"First retry of a log":                                       "firstLogRetry",
	"Longest wait between such retries of a log":                 "lastLogRetry",
	"Until a log is asked for again":                             "slowRetry",
	"Until it is asked for though":                               "believes",
	"While more logs are on their way":                           "gather",
	"Memory for the types of all fields":                         "mostTypes",
	"Actions and operands that are looked at":                    "maxSteps",
	"Mistakes and doubts that are collected":                     "maxNotes",
	"Findings that are shown":                                    "mostShown",
	"Characters that are compared":                               "maxLooks",
	"Kinds of dot for which a `define` block":                    "maxContexts",
	"`define` blocks that call each other":                       "maxChain",
	"Length of a template whose text is compared":                "maxSkeleton",
	"YAML documents in that text":                                "maxSkeletons",
	"Characters of YAML":                                         "maxMarks",
	"Size of what the API server says of one kind":               "MostRead",
	"The same for commands, which read":                          "mostCustom",
	"Lists and maps within each other in that text":              "deepestText",
	"Levels of fields":                                           "deepest in read.go",
	"Time that one check waits for one kind":                     "lookupTime",
	"TemplateControllers that a replica looks at at a time":      "mostReviews",
	"Time for an answer":                                         "answerLimit",
	"Of that, time for reading schemas of kinds":                 "readLimit",
	"Size of what the API server sends":                          "bodyLimit",
	"Requests that a replica receives":                           "inboxLimit",
	"Time for the API server to send one":                        "bodyTime",
	"Errors that an answer tells":                                "mostErrors",
	"Warnings that it tells":                                     "mostWarnings",
	"Length of such a warning":                                   "longestWarning",
	"Length of such an error":                                    "longestLine",
	"Time that the certificate is valid":                         "validFor",
	"Before its end, the next one is made by":                    "renewBefore",
	"After which the next one is shown":                          "overlap",
	"Schemas that are read at a time":                            "mostReaders",
	"Before schemas are read again":                              "firstRead",
	"Longest wait between such reads":                            "lastRead",
	"How long the schemas of kinds":                              "publishedFor",
	"Length of a message about a template":                       "longestMessage in errors.go",
	"Length of an Event's text":                                  "longestNote",
	"Length of the ready condition's message":                    "shortMessage",
	"Length of the path of a field":                              "longestPath",
	"Length of a pattern of the schema":                          "longestPattern",
	"Warnings about deprecated versions":                         "mostDeprecations",
	"Length of a value in a log line":                            "longestLogged",
	"Length of a stack in a log line":                            "longestStack",
	"The same, while newer data is on its way":                   "longestSoon",
	"The same, while a permission is missing":                    "deniedRetry",
	"Interval between such retries in one namespace":             "namespacePace",
	"Longest wait of a parent there":                             "longestInNamespace",
	"Interval between such retries over all namespaces, for":     "clusterPace",
	"Longest wait of a parent in a namespace of its own":         "longestInCluster",
	"Retries while a kind":                                       "slowRetry",
	"After a start, until these counts may fall":                 "recountTime",
	"The server has for an answer":                               "askTime",
	"Replicas that wait try to get the Lease":                    "tryPeriod",
	"For either, the API server's own `/readyz`":                 "askLimit",
	"With `--metrics-secure`, the API server":                    "reviewLimit",
	"An allowance to read the metrics":                           "allowedFor",
	"A refusal counts for":                                       "refusedFor",
	"Questions about readers":                                    "atOnce",
	"Requests for metrics that are answered":                     "mostScrapes",
	"The header of a request":                                    "headerLimit",
	"Size of that header":                                        "headerBytes",
	"An idle connection there":                                   "idleLimit",
	"Connections of each of these servers":                       "mostConnections",
	"Answers about readers, of each sort":                        "remembered",
	"A changed certificate":                                      "lookEvery",
	"Things of one sort that a message names":                    "mostListed",
	"Parents named in `status.failing`":                          "mostFailing",
	"Fields named in `LoopDetected`":                             "mostRewrites",
	"Values that are told":                                       "mostValues",
	"Events waiting to be sent":                                  "queuedEvents",
	"Senders of Events":                                          "eventSenders",
	"Tries to send an Event":                                     "eventTries",
	"Events about one parent in a row":                           "objectEvents",
	"Another Event about a parent":                               "objectEventEvery",
	"Events of one account in one namespace in a row":            "accountEvents",
	"Another Event of an account":                                "accountEventEvery",
	"Parents, and accounts in namespaces, whose Events":          "rememberedRates",
	"Texts of Events that are counted up":                        "rememberedSaid",
	"First retry after the server refused a write":               "firstRetry",
	"Longest wait between such retries":                          "lastRetry",
	"Retries after a conflict":                                   "slowRetry",
	"Until the server is asked again":                            "unansweredRetry",
	"Until the same text is an Event again":                      "repeatAfter",
	"Until the counts":                                           "countsDelay",
	"Children whose parent is gone":                              "collectorTime",
	"Parents of one TemplateController that stop matching":       "departuresPerSecond",
	"The same at once, before that holds":                        "departureBurst",
	"Children deleted at a time":                                 "DeletionsAtATime",
	"Reconciliations that may write to one parent":               "loopBurst",
	"More of these for each object":                              "rolloutPasses",
	"Objects in `maxUnavailable`":                                "mostObjects",
	"After that one more is allowed every":                       "loopRefill",
	"The reconciliations between are apart by":                   "loopPause",
	"An answer about missing rights":                             "BelievedFor",
	"Requests of one tenant for watches":                         "refusedPerSecond",
	"Such requests in a row":                                     "refusedBurst",
	"Requests of one tenant that begin watches":                  "mostUnanswered",
	"After which such a request makes room":                      "unansweredTime",
	"Watches of all TemplateControllers of one":                  "mostWatches",
	"Log lines per second about failing watches of one":          "linesPerSecond",
	"Log lines per second about failing watches of all":          "allLinesPerSecond",
	"Burst of such log lines of all":                             "allLinesBurst",
	"Tenants with such a rate limit":                             "mostLogged",
	"Stored `.status` schemas":                                   "mostSchema in trim.go",
	"Delay between a schema change":                              "learnDelay",
	"Burst of such log lines of one":                             "linesBurst",
	"Questions about missing rights":                             "asksPerSecond",
	"How many of them may wait":                                  "mostAsked",
	"A request that is no watch":                                 "RequestLimit",
	"A request whose answer asks for a pause":                    "RetryAfterLimit",
	"A reconciliation that waits for an answer":                  "patience",
	"The same, for a TemplateController of which":                "leastPatience",
	"TemplateControllers (not their parents)":                    "syncWorkers",
	"Reconciliations under way with those that hang":             "crowd",
	"The same, for the TemplateControllers whose accounts":       "tenantCrowd",
	"Time that requests may take in all":                         "creditLimit",
	"Time since the last request of another tenant":              "neighbourTime",
	"Part of an answer for which a request costs":                "largeAnswer",
	"Time of a request that counts":                              "patience",
	"Rest after such a reconciliation":                           "longestRest",
	"Reconciliations may finish":                                 "stopGrace",
	"The installation of another class":                          "handoverTime",
	"The Lease is renewed every":                                 "renewPeriod",
	"The Lease is given up":                                      "renewDeadline",
	"Writes are refused when":                                    "fenceLimit",
	"The Lease runs out after":                                   "leaseDuration",
	"A file that a command reads":                                "largestFile",
	"Reconciliations of `templater render` and `templater test`": "mostPasses",
	"A text in the playground":                                   "largestText in playground.go",
	"Parents in the playground":                                  "mostParents in playground.go",
	"Children of each that it shows":                             "mostChildren in playground.go",
	"All of their text":                                          "mostBytes in playground.go",
	"Lines of a text there that have a number":                   "mostNumbers in editor.js",
	"An answer there takes at most":                              "mostTime in engine.js",
	"The first one, for which the browser":                       "mostFirst in engine.js",
	"Length of a link that the playground makes":                 "mostLink in main.js",
	"A watch without a sign of life":                             "WatchLimit",
	"A worker without an answer":                                 "WorkLimit",
}

// quotes are numbers in other pages, each as % in the words around it, and what they count: 0 for a number as it is.
var quotes = []struct {
	page, words, constant string
	unit                  int64
}{
	{"concepts/reconciling", "at most % parents a second", "departuresPerSecond", 0},
	{"concepts/reconciling", "the old one after % seconds", "collectorTime", 1e9},
	{"concepts/reconciling", "that do not exist after % seconds", "collectorTime", 1e9},
	{"concepts/reconciling", "Templater retries every % seconds", "slowRetry", 1e9},
	{"concepts/reconciling", "| every % seconds, and at once when a CRD", "slowRetry", 1e9},
	{"concepts/reconciling", "growing intervals up to % seconds; the condition", "deniedRetry", 1e9},
	{"concepts/reconciling", "which kinds it has | every % seconds |", "unansweredRetry", 1e9},
	{"concepts/reconciling", "growing intervals up to % minutes", "lastRetry", 60e9},
	{"concepts/reconciling", "A `message` of more than % bytes is cut", "longestMessage in words.go", 0},
	{"concepts/reconciling", "When % reconciliations of a parent have written", "loopBurst", 0},
	{"concepts/reconciling", "end after % generations", "deepest in factory.go", 0},
	{"concepts/order", "as unavailable for % seconds after the change", "settleTime", 1e9},
	{"reference/templates", "up to % characters", "longestMessage in errors.go", 0},
	{"reference/troubleshooting", "repeated every % minutes", "repeatAfter", 60e9},
	{"operate/high-availability", "only within % s after it asked", "fenceLimit", 1e9},
	{"operate/high-availability", "takes the Lease within % s after", "leaseDuration", 1e9},
	{"operate/high-availability", "renews the Lease every % s", "renewPeriod", 1e9},
	{"operate/high-availability", "more than % s are cut short", "stopGrace", 1e9},
	{"operate/high-availability", "does not answer within % s", "handoverTime", 1e9},
	{"how-to/other-namespaces", "retries every % seconds", "slowRetry", 1e9},
	{"how-to/other-namespaces", "what is left % seconds after the parent is gone", "collectorTime", 1e9},
	{"operate/operations", "did not answer within % seconds", "reviewLimit", 1e9},
	{"operate/operations", "nor a bookmark for % minutes", "WatchLimit", 60e9},
	{"operate/operations", "is busy for % minutes", "WorkLimit", 60e9},
	{"operate/operations", "API server answers within 0.% s", "askLimit", 1e7}, // 0.75 s
}

func TestPagesQuoteTheNumbersOfTheCode(t *testing.T) {
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

func TestLimitsAreThoseOfTheCode(t *testing.T) {
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
