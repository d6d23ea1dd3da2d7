// Package announce publishes Events about parents: each problem once and then now and then, as long as it lasts, and nothing that
// the server has said a moment ago may not be written.
package announce
