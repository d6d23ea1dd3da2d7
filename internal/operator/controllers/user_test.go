package controllers

import (
	"context"
	"strings"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// as returns the cluster as that user sees it; its requests begin with the name of the
// account.
func (c *cluster) as(user string) running.Client {
	if user == "" {
		return c
	}
	return reconciletest.AsUser(c, strings.TrimPrefix(user, spec.AccountPrefix), func(user string) { c.user = user })
}

// Allowed answers as lacks says. What it was asked is not among the requests.
func (c *cluster) Allowed(_ context.Context, right request.Right) (bool, error) {
	resource := right.Resource.Resource
	if right.Subresource != "" {
		resource += "/" + right.Subresource
	}
	text := strings.TrimSpace(strings.Join([]string{c.user, right.Verb, resource, right.Namespace}, " "))
	c.asked = append(c.asked, text)
	return !c.lacks[text], c.refuse["ask "+text]
}
