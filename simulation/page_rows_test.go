package simulation

import (
	"net/http/httptest"
	"strings"
)

// pageRow is how a route is judged. A row without a meeting is asked once for each
// person; meeting says that the route is of one meeting, which is asked as its visible,
// hidden and absent ones.
type pageRow struct {
	paths   []string // in place of {id} stands %d
	meeting bool
	post    bool // asked by POST, with body as its form or JSON
	body    string
	judge   func(w *world, p person, path string, answer *httptest.ResponseRecorder)
}

// pageRows has a row for each route of the page. Those without judge are judged by
// person.hides alone: they name nothing of a hidden meeting.
var pageRows = map[string]pageRow{
	"GET /{$}":                               {paths: []string{"/", "/?q=tra*", "/?q=", "/?person=Rec+ANN", "/?q=is:external+OR+deal"}},
	"GET /meetings/{id}":                     {paths: []string{"/meetings/%d", "/meetings/%d?t=5&q=tra*", "/meetings/%d?player"}, meeting: true},
	"GET /meetings/{id}/{file}":              {paths: []string{"/meetings/%d/transcript.vtt", "/meetings/%d/transcript.srt", "/meetings/%d/clip.vtt?t=0&end=5", "/meetings/%d/transcript.txt", "/meetings/%d/minutes.md"}, meeting: true},
	"GET /api/v1/meetings/{id}/media/{kind}": {paths: []string{"/api/v1/meetings/%d/media/video"}, meeting: true, judge: (*world).judgeMedia},
	"GET /actions":                           {paths: []string{"/actions", "/actions?state=all"}},
	"GET /people":                            {paths: []string{"/people", "/people?q=doe"}},
	"GET /people/{key...}":                   {paths: []string{"/people/doe1", "/people/nobody"}},
	"GET /api/v1/people/{key...}":            {paths: []string{"/api/v1/people/doe1"}},
	"GET /calendar":                          {paths: []string{"/calendar"}},
	"GET /calendar/{month}":                  {paths: []string{"/calendar/2026-03", "/calendar/2026-02", "/calendar/2026-01"}},
	"GET /now":                               {paths: []string{"/now"}},
	"POST /now/looked":                       {},
	"GET /api/v1/calendar":                   {paths: []string{"/api/v1/calendar"}},
	"GET /api/v1/now":                        {paths: []string{"/api/v1/now"}},
	"POST /people/merge":                     {},
	"POST /people/apart":                     {},
	"POST /people/undo":                      {},
	"POST /actions/tick":                     {},
	"GET /api/v1/meetings/{id}/outline":      {paths: []string{"/api/v1/meetings/%d/outline"}, meeting: true},
	"GET /meetings/{id}/versions/{revision}": {paths: []string{"/meetings/%d/versions/1"}, meeting: true, judge: (*world).judgeNothing},
	"GET /api/v1/meetings/{id}/revisions/{revision}/differences": {paths: []string{"/api/v1/meetings/%d/revisions/1/differences"}, meeting: true, judge: (*world).judgeNothing},
	"POST /meetings/{id}/notes":                                  {paths: []string{"/meetings/%d/notes"}, meeting: true, post: true, body: "do=add&text=x&at=1", judge: (*world).judgeNothing},
	"GET /api/v1/meetings/{id}/notes":                            {paths: []string{"/api/v1/meetings/%d/notes"}, meeting: true},
	"POST /api/v1/meetings/{id}/notes":                           {paths: []string{"/api/v1/meetings/%d/notes"}, meeting: true, post: true, body: `{"text":"x","private":true}`},
	"POST /api/v1/meetings/{id}/notes/{note}":                    {paths: []string{"/api/v1/meetings/%d/notes/1"}, meeting: true, post: true, body: `{"text":"y"}`, judge: (*world).judgeNothing},
	"POST /api/v1/meetings/{id}/notes/{note}/delete":             {paths: []string{"/api/v1/meetings/%d/notes/1/delete"}, meeting: true, post: true, judge: (*world).judgeNothing},
	"POST /meetings/{id}/fetch":                                  {paths: []string{"/meetings/%d/fetch"}, meeting: true, post: true, judge: (*world).judgeNothing},
	"POST /api/v1/meetings/{id}/fetch":                           {paths: []string{"/api/v1/meetings/%d/fetch"}, meeting: true, post: true, judge: (*world).judgeNothing},
	"GET /api/v1/meetings/{id}/media/clip":                       {paths: []string{"/api/v1/meetings/%d/media/clip?t=0&end=1"}, meeting: true, judge: (*world).judgeClip},
	"POST /status/run":                                           {},
	"POST /status/replay":                                        {},
	"GET /setup":                                                 {paths: []string{"/setup"}},
	"POST /setup/account":                                        {},
	"POST /setup/webhook":                                        {},
	"GET /api/v1/status/events":                                  {paths: []string{"/api/v1/status/events?events=1"}, judge: (*world).judgeAccounts},
	"POST /api/v1/accounts/{account}/jobs/{job}":                 {},
	"POST /api/v1/deliveries/{delivery}/replay":                  {},
	"GET /status":                                                {paths: []string{"/status"}, judge: (*world).judgeStatusPage},
	"GET /help":                                                  {paths: []string{"/help"}},
	"GET /api/v1/search":                                         {paths: []string{"/api/v1/search?limit=100&facets=true&histogram=true", "/api/v1/search?limit=100&q=tra*"}, judge: (*world).judgeList},
	"GET /api/v1/suggest":                                        {paths: []string{"/api/v1/suggest?q=tra", "/api/v1/suggest?q=tit", "/api/v1/suggest?q=voi", "/api/v1/suggest?q=person:", "/api/v1/suggest?q=rec", "/api/v1/suggest?q=type:"}},
	"GET /api/v1/facet":                                          {paths: []string{"/api/v1/facet?field=person&limit=500", "/api/v1/facet?field=domain&q=tra*&find=a", "/api/v1/facet?field=has"}},
	"GET /api/v1/trends":                                         {paths: []string{"/api/v1/trends?q=-nothing&q=tra*&by=person", "/api/v1/trends?q=-nothing&q=deal&by=team", "/api/v1/trends?q=-nothing"}, judge: (*world).judgeTrends},
	"GET /saved":                                                 {paths: []string{"/saved"}},
	"POST /saved":                                                {paths: []string{"/saved"}},
	"POST /saved/{id}/{change}":                                  {paths: []string{"/saved/1/delete"}},
	"GET /unsubscribe/{token}":                                   {paths: []string{"/unsubscribe/1.AAAA"}},
	"POST /unsubscribe/{token}":                                  {paths: []string{"/unsubscribe/1.AAAA"}, post: true},
	"GET /feeds/{secret}":                                        {paths: []string{"/feeds/nothing"}},
	"GET /api/v1/saved-searches":                                 {paths: []string{"/api/v1/saved-searches"}},
	"POST /api/v1/saved-searches":                                {},
	"POST /api/v1/saved-searches/{search}/{change}":              {},
	"POST /api/v1/merges":                                        {},
	"POST /api/v1/merges/apart":                                  {},
	"POST /api/v1/merges/{merge}/undo":                           {},
	"POST /api/v1/now/looked":                                    {},
	"POST /api/v1/action-items/tick":                             {},
	"GET /refine":                                                {paths: []string{"/refine?q=tra*&sort=date&where=title&from=2026-01-01"}},
	"GET /facet":                                                 {paths: []string{"/facet?field=person", "/facet?field=type&q=tra*"}},
	"GET /trends":                                                {paths: []string{"/trends?q=tra*&q=is:external", "/trends?q=tra*&by=person"}},
	"GET /api/v1/meetings":                                       {paths: []string{"/api/v1/meetings?limit=100"}, judge: (*world).judgeList},
	"GET /api/v1/meetings/{id}":                                  {paths: []string{"/api/v1/meetings/%d"}, meeting: true, judge: (*world).judgeCRM},
	"GET /api/v1/meetings/{id}/moments":                          {paths: []string{"/api/v1/meetings/%d/moments?q=tra*"}, meeting: true},
	"GET /api/v1/meetings/{id}/transcript":                       {paths: []string{"/api/v1/meetings/%d/transcript"}, meeting: true},
	"GET /api/v1/meetings/{id}/media":                            {paths: []string{"/api/v1/meetings/%d/media"}, meeting: true, judge: (*world).judgeMayPlay},
	"GET /api/v1/meetings/{id}/revisions":                        {paths: []string{"/api/v1/meetings/%d/revisions"}, meeting: true},
	"GET /api/v1/meetings/{id}/revisions/{revision}":             {paths: []string{"/api/v1/meetings/%d/revisions/1"}, meeting: true, judge: (*world).judgeNothing},
	"GET /api/v1/people":                                         {paths: []string{"/api/v1/people?limit=1000"}},
	"GET /api/v1/filters":                                        {paths: []string{"/api/v1/filters"}},
	"GET /api/v1/action-items":                                   {paths: []string{"/api/v1/action-items?state=all&limit=1000"}, judge: (*world).judgeList},
	"GET /api/v1/assignees":                                      {paths: []string{"/api/v1/assignees"}},
	"GET /api/v1/status":                                         {paths: []string{"/api/v1/status"}, judge: (*world).judgeStatus},
	"GET /api/v1/changes":                                        {paths: []string{"/api/v1/changes?from=" + strings.Repeat("A", 80)}},
	"GET /api/v1/me":                                             {paths: []string{"/api/v1/me"}},
	"GET /api/v1/openapi.yaml":                                   {paths: []string{"/api/v1/openapi.yaml"}},
	"/api/v1/":                                                   {paths: []string{"/api/v1/nothing", "/api/v1/"}},
	"/mcp":                                                       {}, // compareAssistant
	"GET /static/":                                               {paths: []string{"/static/nothing"}},
	"GET /favicon.ico":                                           {paths: []string{"/favicon.ico"}},
	"GET /metrics":                                               {paths: []string{"/metrics"}},
	"GET /healthz":                                               {paths: []string{"/healthz"}},
	"GET /readyz":                                                {paths: []string{"/readyz"}},
	"/":                                                          {paths: []string{"/nothing"}},
}
