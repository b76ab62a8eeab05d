package config

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// validateOIDC refuses a sign-in that nobody is asked for, and one by which people
// of other organisations would come in.
func (w Web) validateOIDC(bad complain) {
	o := w.OIDC
	if !o.isSet() {
		if w.Access == AccessPeople && !w.Passwords {
			bad("web.passwords", "is false, and without [web.oidc] nobody could sign in: remove it, or set up [web.oidc]")
		}
		return
	}
	if w.Access != AccessPeople {
		bad("web.oidc", "counts only with access = \"people\", and access is %q: remove it, or write access = \"people\"", w.Access)
	}
	u, err := url.Parse(o.Issuer)
	switch {
	case o.Issuer == "":
		bad("web.oidc.issuer", "is missing: write the provider's address, such as https://id.example")
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopbackName(u.Hostname())):
		bad("web.oidc.issuer", "is no https address")
	case o.TrustEmail && isManyOrganisations(u):
		bad("web.oidc.trust_email", "believes whatever address somebody has given there, and %s serves everybody; remove it, or name the issuer of your own organisation", u.Host)
	}
	if o.ClientID == "" {
		bad("web.oidc.client_id", "is missing: register this page at the provider, with the redirect address public_url + /login/oidc/callback")
	}
	if o.ClientSecret == "" {
		bad("web.oidc.client_secret_file", "is missing: set it or %sWEB_OIDC_CLIENT_SECRET", envPrefix)
	}
	o.validateJoin(bad)
}

// isSet reports whether anything of [web.oidc] differs from its default.
func (o OIDC) isSet() bool {
	return o.Issuer+o.ClientID+o.ClientSecretFile+o.ClientSecret+o.AdminGroup != "" || len(o.AllowedDomains) > 0 || o.Join != JoinInvited || o.TrustEmail
}

func (o OIDC) validateJoin(bad complain) {
	switch o.Join {
	case JoinInvited, JoinDirectory:
	case JoinDomain:
		if len(o.AllowedDomains) == 0 {
			bad("web.oidc.allowed_domains", "is missing, and join = \"domain\" lets in everybody whom the provider knows without it; write your domains, such as [\"example.com\"]")
		}
	default:
		bad("web.oidc.join", "%q is none of invited, directory, domain", o.Join)
	}
	for _, domain := range o.AllowedDomains {
		_, err := publicsuffix.EffectiveTLDPlusOne(domain)
		switch {
		case !isHostName(domain) || domain != strings.ToLower(domain) || !strings.Contains(domain, ".") || err != nil:
			bad("web.oidc.allowed_domains", "%q is no domain of an organisation; write it in small letters and whole, such as example.com", domain)
		case o.Join == JoinDomain && slices.Contains(openDomains(), domain):
			bad("web.oidc.allowed_domains", "%s gives addresses to everybody, and join = \"domain\" would let them all in; use join = \"invited\"", domain)
		}
	}
}

// isManyOrganisations reports whether an issuer signs for people of any
// organisation.
func isManyOrganisations(issuer *url.URL) bool {
	switch strings.ToLower(issuer.Hostname()) {
	case "accounts.google.com", "appleid.apple.com", "www.facebook.com", "www.linkedin.com", "gitlab.com", "github.com":
		return true
	case "login.microsoftonline.com":
		tenant, _, _ := strings.Cut(strings.TrimPrefix(issuer.Path, "/"), "/")
		return slices.Contains([]string{"", "common", "organizations", "consumers", "9188040d-6c67-4c5b-b112-36a304b66dad"}, strings.ToLower(tenant))
	}
	return false
}

// openDomains are the best known domains at which everybody can have an address.
// The list catches a mistake; it is not complete.
func openDomains() []string {
	return []string{
		"gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com", "yahoo.com", "ymail.com", "aol.com", "icloud.com", "me.com", "mac.com",
		"proton.me", "protonmail.com", "pm.me", "gmx.de", "gmx.net", "gmx.com", "web.de", "t-online.de", "mail.com", "mail.ru", "yandex.ru", "yandex.com",
		"qq.com", "163.com", "126.com", "zoho.com", "fastmail.com", "hey.com", "orange.fr", "free.fr", "libero.it",
	}
}
