// Package watch keeps local copies of what the API server holds, and finds objects in them.
//
// A Want names a set of objects. The Manager turns the wants of all TemplateControllers into running watches, one per distinct Want, and
// stops a watch when nobody wants it any more. Each watch fills a Cache, and reports each change as an Event. A Cache also takes what this
// process has just written, so that a reader sees its own writes before the watch brings them (see Cache.Put).
package watch
