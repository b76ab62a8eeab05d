package search

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// plainLines are the headings, paragraphs, items and rows of a Markdown text as
// one reads them, to be quoted: without marks, addresses of links and HTML.
func plainLines(source string) []string {
	src := []byte(source)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	var lines []string
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() != ast.TypeBlock {
			return ast.WalkContinue, nil
		}
		var line string
		switch {
		case n.Kind() == extast.KindTableHeader || n.Kind() == extast.KindTableRow:
			line = rowText(n, src)
		case n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeInline:
			line = inlineText(n, src)
		case n.Kind() == ast.KindCodeBlock || n.Kind() == ast.KindFencedCodeBlock:
			line = string(n.Lines().Value(src))
		default:
			return ast.WalkContinue, nil
		}
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
		return ast.WalkSkipChildren, nil
	})
	return lines
}

// rowText puts the cells of a row on one line.
func rowText(row ast.Node, src []byte) string {
	var cells []string
	for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
		if s := strings.TrimSpace(inlineText(cell, src)); s != "" {
			cells = append(cells, s)
		}
	}
	return strings.Join(cells, " · ")
}

// inlineText returns the text of a block as it is read, without escapes and entities.
func inlineText(block ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := n.Value(src)
			if n.Parent().Kind() != ast.KindCodeSpan {
				value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
			}
			b.Write(value)
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
