package web

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/internal/browsertest"
	"minutebook/internal/oidctest"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestBrowserEntry signs in as people do, in one Chromium.
func TestBrowserEntry(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	inBrowser(t, map[string]func(*testing.T, *browsertest.Chromium){
		"password and passkey":         browserSignsIn,
		"outlives the session":         browserOutlivesTheSession,
		"outlives the proxy's session": browserOutlivesTheProxysSession,
		"forgets others' searches":     browserForgetsOthersSearches,
		"end of rights":                browserShowsTheEndOfRights,
		"end of a session":             browserShowsTheEndOfASession,
		"end of a person":              browserShowsTheEndOfAPerson,
		"nobody else's page":           browserShowsNobodyElsesPage,
		"passkey alone":                browserIsInvitedByPasskey,
		"keeps its note":               browserKeepsItsNote,
		"provider":                     browserSignsInAtAProvider,
		"axe":                          browserAxeFindsNothingInside,
		"under a path":                 browserStaysUnderTheBasePath,
	})
}

// addAuthenticator gives the browser a device that holds passkeys.
func addAuthenticator(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	if _, err := chromedp.Call(b.Context, webauthn.Enable, webauthn.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(b.Context, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true}})
	if err != nil {
		t.Fatal(err)
	}
}

const signedIn = `document.querySelector("nav [href='/me']")?.title === "ann@acme.example"`

func browserSignsIn(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	_, secret := s.add("ann@acme.example", true)
	b := c.Open(t, s.URL)
	addAuthenticator(t, b)
	b.Do(chromedp.Navigate(s.URL + access.InvitationPath + secret))
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=password]`), goodPassword))
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=again]`), goodPassword+kb.Enter))
	b.WaitFor(signedIn)
	b.Do(chromedp.Navigate(s.URL + "/me"))
	b.Do(chromedp.Click(chromedp.CSS(`[data-passkey=add]`)))
	b.WaitFor(`!!document.querySelector("[action='/me/passkeys/remove']")`)
	b.Do(chromedp.Navigate(s.URL+"/help"), chromedp.Click(chromedp.CSS("[data-keys] input")), chromedp.Navigate(s.URL+"/me"))
	b.Do(chromedp.Click(chromedp.CSS(`[action="/logout"] button`)))
	b.WaitFor(`location.pathname === "/login"`)
	b.Do(chromedp.Navigate(s.URL + "/status"))
	b.WaitFor(`location.search === "?next=%2Fstatus"`)
	b.Do(chromedp.Click(chromedp.CSS(`[data-passkey=sign-in]`)))
	b.WaitFor(`location.pathname === "/status" && ` + signedIn)
	b.Do(chromedp.Navigate(s.URL + "/help"))
	if browsertest.Evaluate[bool](b, `document.querySelector("[data-keys] input").checked`) {
		t.Error("signing out has turned the letter keys on again")
	}
	b.Do(chromedp.Navigate(s.URL + "/me"))
	b.Do(chromedp.Click(chromedp.CSS(`[action="/logout"] button`)))
	b.WaitFor(`location.pathname === "/login"`)
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=address]`), "ann@acme.example"))
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=password]`), goodPassword+kb.Enter))
	b.WaitFor(`location.pathname === "/" && ` + signedIn)
}

// browserIsInvitedByPasskey accepts an invitation without a password. A passkey of a
// person who was removed opens nothing any more.
func browserIsInvitedByPasskey(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	s.add("admin@acme.example", true)
	ann, secret := s.add("ann@acme.example", false)
	b := c.Open(t, s.URL)
	addAuthenticator(t, b)
	b.Do(chromedp.Navigate(s.URL + access.InvitationPath + secret))
	b.Do(chromedp.Click(chromedp.CSS(`[data-passkey=invitation]`)))
	b.WaitFor(`location.pathname === "/" && ` + signedIn)
	if err := s.people.RemovePerson(t.Context(), access.ActorCommand, ann.ID); err != nil {
		t.Fatal(err)
	}
	b.Allow("401")
	b.Do(chromedp.Navigate(s.URL + "/"))
	b.WaitFor(`location.pathname === "/login"`)
	b.Do(chromedp.Click(chromedp.CSS(`[data-passkey=sign-in]`)))
	b.WaitFor(`document.querySelector("[data-passkey-error]")?.textContent.includes("not known here")`)
}

func browserSignsInAtAProvider(t *testing.T, c *browsertest.Chromium) {
	s := newOIDCSite(t, false, nil)
	person, _ := s.add("ann@acme.example", true)
	s.provider.Seat(oidctest.Person(ann))
	b := c.Open(t, s.URL, s.provider.Issuer)
	b.Do(chromedp.Navigate(s.URL + "/status"))
	b.Do(chromedp.Click(chromedp.CSS(`a[href^="/login/oidc"]`)))
	b.WaitFor(`location.pathname === "/status" && ` + signedIn)

	// The session ends, and a form is sent: the provider knows the person still, or no more.
	b.Allow("401")
	b.Do(chromedp.Navigate(s.URL + "/people"))
	for _, where := range []string{`location.search === "?q=walrus+herd" && ` + signedIn, `location.pathname === "/login" && location.search === "?next=%2F%3Fq%3Dwalrus%2Bherd"`} {
		_, err := s.people.EndSessions(t.Context(), access.ActorCommand, person.ID)
		must(t, err)
		b.Do(chromedp.SetValue(chromedp.CSS(`input[name=q]`), "walrus herd"), chromedp.SendKeys(chromedp.CSS(`input[name=q]`), kb.Enter))
		b.WaitFor(where)
		s.provider.Seat(nil)
	}
}

// browserAxeFindsNothingInside checks the pages of people who sign in, and takes
// pictures of them where the environment asks for it.
func browserAxeFindsNothingInside(t *testing.T, c *browsertest.Chromium) {
	axe := browsertest.Axe(t)
	s := newEntrySite(t, nil)
	check := func(b *browsertest.Browser, pages ...string) {
		for _, page := range pages {
			b.Do(chromedp.Navigate(s.URL + page))
			for i, scheme := range []string{"light", "dark"} {
				width := []int64{1280, 360}[i]
				b.Prefer(scheme)
				b.Do(chromedp.EmulateViewport(width, 850))
				b.Check(axe, fmt.Sprintf("%s, %s, %d wide", page, scheme, width))
				checkLayout(t, b, page, width)
				takePicture(t, b, page+scheme)
			}
		}
	}
	b := c.Open(t, s.URL)
	check(b, "/")
	_, secret := s.add("ann@acme.example", true)
	check(b, "/login", access.InvitationPath+secret)
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=password]`), goodPassword))
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=again]`), goodPassword+kb.Enter))
	b.WaitFor(signedIn)
	s.add("bob.with-a-very-long-address.that-does-not-end@acme-of-many-departments.example", false)
	check(b, "/me", "/admin/people", "/admin/audit")
}

// takePicture writes a picture of the page into the folder that MINUTEBOOK_PICTURES
// names.
func takePicture(t *testing.T, b *browsertest.Browser, name string) {
	dir := os.Getenv("MINUTEBOOK_PICTURES")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.Context, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(fmt.Sprintf("%s/%x.png", dir, name), picture, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}
