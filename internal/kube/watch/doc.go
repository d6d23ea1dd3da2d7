// Package watch runs list-watches, and keeps their objects in caches with indexes.
//
// A Want selects a set of objects. The Manager runs one watch for each distinct Want of all TemplateControllers, and stops a
// watch when no TemplateController needs it anymore. Each watch fills a Cache, and reports each change as an Event. A Cache also
// stores the writes of this process, so that a reader sees them before the watch delivers them (see Cache.Put).
package watch
