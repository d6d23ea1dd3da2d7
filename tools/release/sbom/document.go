package sbom

// Placeholder for unknown values, and the IDs of the document and the release.
const (
	noAssertion = "NOASSERTION"
	documentID  = "SPDXRef-DOCUMENT"
	releaseID   = "SPDXRef-Release"
)

// document is an SPDX document, with the required fields.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"` // of the document itself: SPDX requires this one
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo"`
	Supplier  string     `json:"supplier"`
	Download  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	Source    string     `json:"sourceInfo,omitempty"`
	License   string     `json:"licenseConcluded"`
	Declared  string     `json:"licenseDeclared"`
	Copyright string     `json:"copyrightText"`
	Comment   string     `json:"comment,omitempty"`
	Purpose   string     `json:"primaryPackagePurpose"`
	External  []external `json:"externalRefs"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}
