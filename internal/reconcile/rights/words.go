package rights

import (
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// mayNot says that the verbs are missing, with the rule for those to add.
func mayNot(need Claim, missing, add []string) string {
	return fmt.Sprintf("%s may not %s %s: add %s to %s", Who(need.As), problem.And(missing), need.what(), need.rule(add), need.role())
}

// mayNotAct says which right the operator lacks to act as the claim's user.
func mayNotAct(need Claim, f finding, operator string) string {
	namespace, name := spec.Account(need.As)
	if !f.constrained {
		return fmt.Sprintf(`templater may not act as %s: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [%s], verbs: [impersonate]} to a Role in namespace %s that a RoleBinding gives to %s`,
			Who(need.As), name, namespace, operator)
	}
	verbs := f.missing
	if len(verbs) == 0 {
		for _, verb := range need.Use.Verbs() {
			verbs = append(verbs, actingPrefix+verb)
		}
	}
	plain, quoted := make([]string, len(verbs)), make([]string, len(verbs))
	for i, verb := range verbs {
		plain[i], quoted[i] = strings.TrimPrefix(verb, actingPrefix), `"`+verb+`"`
	}
	return fmt.Sprintf("templater may act as %s, but not to %s %s: add %s to %s that a %s gives to %s",
		Who(need.As), problem.And(plain), need.what(), need.rule(quoted), need.kindOfRole(), need.kindOfBinding(), operator)
}

// Who names a user.
func Who(user string) string {
	if user == "" {
		return "templater"
	}
	namespace, name := spec.Account(user)
	return "service account " + namespace + "/" + name
}
