// Package markdown makes HTML of the service's summaries that is safe to show.
package markdown

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tasks "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Render converts a summary to safe HTML: without scripts, without images
// (they would be requests to another host), with links that send no referrer. No word is
// lost: HTML is shown as it is written, and an image by its description. The
// service's summaries link to moments of the recording under one of the addresses
// own; these links get the address that to returns for the moment.
func Render(source string, to func(seconds int64) string, own ...string) (template.HTML, error) {
	if strings.TrimSpace(source) == "" {
		return "", nil
	}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(lowerHeadings{}, 100),
			util.Prioritized(momentLinks{own, to}, 101))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(words{}, 100))))
	var buf bytes.Buffer
	if err := md.Convert([]byte(source), &buf); err != nil {
		return "", fmt.Errorf("read the summary's Markdown: %w", err)
	}
	clean := summaryPolicy().Sanitize(buf.String())
	// A wide table scrolls, by the keyboard too.
	return template.HTML(strings.ReplaceAll(clean, "<table>", `<table tabindex="0">`)), nil //nolint:gosec // cleaned here
}

// summaryPolicy allows the elements of Markdown, but none that load from another
// host.
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

// lowerHeadings moves a summary's headings below those of the page.
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

// momentLinks replaces links to moments of a recording at the service.
type momentLinks struct {
	own []string                   // addresses of the recording at the service
	to  func(seconds int64) string // the address of a moment on this page
}

// Transform replaces links such as ADDRESS?timestamp=1058.9.
func (m momentLinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			if seconds, ok := m.parseMoment(string(link.Destination)); ok {
				link.Destination = []byte(m.to(seconds))
			}
		}
		return ast.WalkContinue, nil
	})
}

// parseMoment reads the second from a link to the recording.
func (m momentLinks) parseMoment(address string) (int64, bool) {
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

// words renders as text the nodes of a summary that its HTML cannot have.
type words struct{}

// RegisterFuncs registers the renderers.
func (words) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindRawHTML, entering(func(w util.BufWriter, source []byte, n ast.Node) {
		writeHTML(w, source, n.(*ast.RawHTML).Segments)
	}))
	reg.Register(ast.KindHTMLBlock, entering(func(w util.BufWriter, source []byte, n ast.Node) {
		block := n.(*ast.HTMLBlock)
		_, _ = w.WriteString("<p>")
		writeHTML(w, source, block.Lines())
		if block.HasClosure() {
			line := text.NewSegments()
			line.Append(block.ClosureLine)
			writeHTML(w, source, line)
		}
		_, _ = w.WriteString("</p>\n")
	}))
	reg.Register(ast.KindImage, entering(func(util.BufWriter, []byte, ast.Node) {})) // its description is within
	reg.Register(tasks.KindTaskCheckBox, entering(func(w util.BufWriter, _ []byte, n ast.Node) {
		box := "\u2610 "
		if n.(*tasks.TaskCheckBox).IsChecked {
			box = "\u2611 "
		}
		_, _ = w.WriteString(box)
	}))
}

// entering returns a renderer that writes a node before its children.
func entering(write func(util.BufWriter, []byte, ast.Node)) renderer.NodeRendererFunc {
	return func(w util.BufWriter, source []byte, n ast.Node, enters bool) (ast.WalkStatus, error) {
		if enters {
			write(w, source, n)
		}
		return ast.WalkContinue, nil
	}
}

// lineBreak is the one element that a summary can write as HTML, escaped.
var lineBreak = regexp.MustCompile(`(?i)&lt;br\s*/?&gt;`)

// writeHTML writes HTML as text.
func writeHTML(w util.BufWriter, source []byte, s *text.Segments) {
	_, _ = w.Write(lineBreak.ReplaceAll(util.EscapeHTML(s.Value(source)), []byte("<br>")))
}
