package syntax

import (
	"maps"
	"slices"
)

// refused holds the functions that templates may not call, by name.
var refused = map[string]Function{}

// Refused lists the functions that templates may not call, in no order.
func Refused() []Function { return slices.Collect(maps.Values(refused)) }

// refuse registers functions that are not there, for one reason.
func refuse(source, why string, names ...string) {
	for _, name := range names {
		refused[name] = Function{Name: name, Source: source, Refused: why}
	}
}

func init() {
	refuse("sprig", "it reads the clock, so its output would change between two passes over the same input; "+
		"use a time that the parent carries, such as .metadata.creationTimestamp",
		"now", "ago")
	refuse("sprig", "it depends on the operator's clock or time zone; keep times as the text they are, or put the date into the parent",
		"date", "dateInZone", "date_in_zone", "dateModify", "date_modify", "mustDateModify", "must_date_modify",
		"htmlDate", "htmlDateInZone", "toDate", "mustToDate", "unixEpoch")
	refuse("sprig", "it is random, so its output would change between two reconciliations of the same input; "+
		"if it is to be secret, keep it in a Secret that a user or a generator creates, and read it by name or by spec.related (the UID of an object is public, and so is any hash of it)",
		"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4")
	refuse("sprig", "it makes a new key or certificate each time, so its output would change between two passes; "+
		"let cert-manager make it, or keep it in a Secret",
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
		"genSignedCert", "genSignedCertWithKey", "buildCustomCert")
	refuse("sprig", "it has a random part, so its output would change between two passes over the same input; "+
		"keep the result in a Secret", "bcrypt", "htpasswd", "encryptAES")
	refuse("sprig", "secrets are not computed in templates; keep them in a Secret", "decryptAES")
	refuse("sprig", "it takes a third of a second of CPU; keep the password in a Secret", "derivePassword")
	refuse("sprig", "it reads the operator's environment; use .values", "env", "expandenv")
	refuse("sprig", "it asks the network; put the address into the parent or into .values", "getHostByName")
	refuse("sprig", "it depends on the operating system that the operator runs on; use base, dir, clean, ext and isAbs",
		"osBase", "osDir", "osClean", "osExt", "osIsAbs")
	refuse("text/template", "no value is a function; use include to call a define block", "call")
	refuse("helm", "it would make template text of data; use include with a define block", "tpl")
	refuse("helm", "it asks the API server; use .observed for children, and .related for other objects", "lookup")
	refuse("helm", "it reads files of a chart; use .values", "Files")
	refuse("helm", "it is not there; use fromYaml or fromJson, which read lists too", "fromYamlArray", "fromJsonArray")
	refuse("helm", "it is not there; use toYaml or toJson", "toToml", "fromToml")
}
