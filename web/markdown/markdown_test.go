package markdown

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// FuzzRender: whatever a summary holds, its HTML has the elements of text alone, no
// attribute that runs or loads anything, and links that are ordinary addresses.
func FuzzRender(f *testing.F) {
	const own = "https://app.example/share/1"
	for _, s := range []string{"# Top\n\n## Sub\n\n| a | b |\n|:-:|---|\n| 1 | 2 |", "[at](" + own + "?timestamp=1058.9) [x](javascript:alert(1)) ![i](https://x.example/i.png)", "<script>x</script><b onclick=x>b</b> <a href='data:text/html,x'>d</a>",
		"1) a\n   - b\n\n```html\n<img src=x onerror=y>\n```\n~~c~~ https://auto.example <mailto:a@b.example>", "[a]: //host/x 'title'\n[a] \x00 &#x6A;avascript:", "- [ ] open\n- [x] done", "[n](" + own + "?timestamp=NaN) [n](" + own + "?timestamp=1e300)"} {
		f.Add(s)
	}
	elements := strings.Fields("a p br hr h3 h4 h5 h6 ul ol li strong em del code pre blockquote table thead tbody tr th td")
	attributes := strings.Fields("href rel start align tabindex")
	f.Fuzz(func(t *testing.T, source string) {
		out, err := Render(source, func(seconds int64) string {
			if seconds < 0 || seconds > 1e6 {
				t.Errorf("%q: the moment %d", source, seconds)
			}
			return fmt.Sprintf("?t=%d", seconds)
		}, own)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		for z := html.NewTokenizer(strings.NewReader(string(out))); z.Next() != html.ErrorToken; {
			token := z.Token()
			switch token.Type {
			case html.TextToken:
				continue
			case html.CommentToken, html.DoctypeToken:
				t.Fatalf("%q became %s", source, out)
			}
			if !slices.Contains(elements, token.Data) {
				t.Fatalf("%q: the element %s in %s", source, token.Data, out)
			}
			for _, a := range token.Attr {
				if !slices.Contains(attributes, a.Key) {
					t.Fatalf("%q: the attribute %s in %s", source, a.Key, out)
				}
				if u, err := url.Parse(a.Val); a.Key == "href" && (err != nil || !slices.Contains([]string{"", "http", "https", "mailto"}, u.Scheme)) {
					t.Fatalf("%q: the address %q in %s", source, a.Val, out)
				}
			}
		}
	})
}

// TestNoWordIsLost renders HTML, images and tasks, which the page shows as text.
func TestNoWordIsLost(t *testing.T) {
	for source, want := range map[string]string{
		"It returns List<User> & Map<K, V>.":                                                     "<p>It returns List&lt;User&gt; &amp; Map&lt;K, V&gt;.</p>",
		"| a |\n|---|\n| one<br>two<BR/>three |":                                                 "<td>one<br>two<br>three</td>",
		"<details>\n<summary>More</summary>\nThe walrus & Co.<br />Twice.\n</details>\n\nAfter.": "<p>&lt;details&gt;\n&lt;summary&gt;More&lt;/summary&gt;\nThe walrus &amp; Co.<br>Twice.\n&lt;/details&gt;\n</p>\n<p>After.</p>",
		"<script>alert(1)\n\nwords</script>":                                                     "<p>&lt;script&gt;alert(1)\n\nwords&lt;/script&gt;</p>",
		"![The chart of *May*](https://x.example/i.png)":                                         "<p>The chart of <em>May</em></p>",
		"- [ ] open\n- [x] done":                                                                 "<li>\u2610 open</li>\n<li>\u2611 done</li>",
	} {
		out, err := Render(source, func(int64) string { return "" })
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%q became %q, %v; want %q", source, out, err, want)
		}
	}
}
