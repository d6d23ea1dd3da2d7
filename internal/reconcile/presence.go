package reconcile

// absentNamespaces returns those of spec.watch.namespaces that are known not to be there, in order. One that holds parents
// is not asked about.
func (c *controller) absentNamespaces() []string {
	var out []string
	for _, ns := range sortedKeys(c.parents) {
		if cache := c.parents[ns]; ns == "" || !cache.Synced() || cache.Len() > 0 {
			continue
		}
		if c.rights.NamespaceIsAbsent(ns) {
			out = append(out, ns)
		}
	}
	return out
}
