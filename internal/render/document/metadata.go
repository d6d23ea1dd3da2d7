package document

// NotForTemplates are fields of metadata that only the server, or templater, sets, and what to do in their place.
var NotForTemplates = []struct{ Field, Advice string }{
	{"generateName", "templater must know the name of each child beforehand: set metadata.name"},
	{"ownerReferences", "templater sets the owner reference itself: remove it; to have none, set deletionPolicy: Orphan"},
	{"uid", "the API server sets it: remove it"},
	{"resourceVersion", "the API server sets it: remove it"},
	{"generation", "the API server sets it: remove it"},
	{"managedFields", "the API server sets it: remove it"},
	{"deletionTimestamp", "the API server sets it: remove it"},
	{"deletionGracePeriodSeconds", "the API server sets it: remove it"},
	{"selfLink", "the API server sets it: remove it"},
}
