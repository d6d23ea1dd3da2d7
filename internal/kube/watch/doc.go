// Package watch runs list-watches, and keeps their objects in caches with indexes.
//
// A Want names a set of objects. The Manager turns the wants of all TemplateControllers into running watches, one per distinct Want, and
// stops a watch when no TemplateController needs it any more. Each watch fills a Cache, and reports each change as an Event. A Cache also
// takes what this process has just written, so that a reader sees its own writes before the watch delivers them (see Cache.Put).
package watch
