package web

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown turns a summary into clean HTML: no scripts, no images (a request to
// another host), links that do not tell where they were followed from. Links to
// a moment of the recording, which the service's summaries hold under one of the
// recording's own addresses, lead to where to says that the moment is here.
func markdown(source string, to func(seconds int64) string, own ...string) (template.HTML, error) {
	if strings.TrimSpace(source) == "" {
		return "", nil
	}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(lowerHeadings{}, 100),
			util.Prioritized(momentLinks{own, to}, 101))))
	var buf bytes.Buffer
	if err := md.Convert([]byte(source), &buf); err != nil {
		return "", fmt.Errorf("read the summary's Markdown: %w", err)
	}
	return template.HTML(summaryPolicy().SanitizeBytes(buf.Bytes())), nil //nolint:gosec // cleaned here
}

// summaryPolicy allows what Markdown writes, and nothing that asks another host.
func summaryPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em",
		"del", "code", "pre", "blockquote", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("align").Matching(bluemonday.CellAlign).OnElements("th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.RequireNoReferrerOnLinks(true)
	p.RequireNoFollowOnLinks(true)
	return p
}

// lowerHeadings puts a summary's headings below the page's own.
type lowerHeadings struct{}

// Transform moves the highest heading to the third level and the rest with it.
func (lowerHeadings) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	top := 6
	each := func(do func(*ast.Heading)) {
		_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if h, ok := n.(*ast.Heading); ok && entering {
				do(h)
			}
			return ast.WalkContinue, nil
		})
	}
	each(func(h *ast.Heading) { top = min(top, h.Level) })
	each(func(h *ast.Heading) { h.Level = min(6, h.Level-top+3) })
}

// momentLinks are the addresses of a recording at the service, and where its
// moments are here.
type momentLinks struct {
	own []string
	to  func(seconds int64) string
}

// Transform leads links such as ADDRESS?timestamp=1058.9 to the moment here.
func (m momentLinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			if seconds, ok := m.moment(string(link.Destination)); ok {
				link.Destination = []byte(m.to(seconds))
			}
		}
		return ast.WalkContinue, nil
	})
}

// moment reads the moment that a link to the recording names.
func (m momentLinks) moment(address string) (int64, bool) {
	base, query, _ := strings.Cut(address, "?")
	if base == "" || !slices.Contains(m.own, base) {
		return 0, false
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(values.Get("timestamp"), 64)
	return int64(seconds), err == nil && seconds >= 0 && seconds < 1e6
}
