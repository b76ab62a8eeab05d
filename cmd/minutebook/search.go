package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/phrase"
	"minutebook/search"
)

func (m *Main) searchCmd() *cobra.Command {
	var q control.SearchRequest
	var open, links bool
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find who said what, and when",
		Long:  "Find who said what, and when. The query language is described in docs/search.md.",
		Args:  checkArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Query = strings.Join(args, " ")
			page := ""
			if open || links {
				var err error
				if page, err = m.pageOf(cmd.Context()); err != nil {
					return err
				}
			}
			return perform(m, cmd, "search", q, nil, func(r control.SearchResult) error {
				linked := page
				if !links {
					linked = ""
				}
				if err := printSearch(m.Stdout, r, m.usesColour(), linked); err != nil || !open {
					return err
				}
				return m.openFirst(cmd.Context(), page, r)
			})
		},
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 10, "meetings to show, at most 100")
	checkAtMost(cmd.Flags(), "limit", 100) // of package search
	cmd.Flags().IntVar(&q.Moments, "moments", 3, "moments to show of each, at most 20")
	checkAtMost(cmd.Flags(), "moments", 20)
	cmd.Flags().StringVar(&q.After, "after", "", "go on where a page ended (its \"next\" with --json)")
	cmd.Flags().BoolVar(&open, "open", false, "open the first moment on the page, in the browser")
	cmd.Flags().BoolVar(&links, "links", false, "print the link to each moment on the page")
	cmd = m.jsonFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "open")
	cmd.MarkFlagsMutuallyExclusive("json", "links")
	return cmd
}

// printSearch prints an answer for a person: each meeting with its moments, and where
// page is set their links.
func printSearch(w io.Writer, r control.SearchResult, colour bool, page string) error {
	var b strings.Builder
	count := fmt.Sprint(r.Total)
	if !r.Exact {
		count = "at least " + count
	}
	fmt.Fprintf(&b, "%s %s\n", count, phrase.Plural(r.Total, "meeting", "meetings"))
	if r.Relaxed != "" {
		fmt.Fprintf(&b, "%s\n", r.Relaxed)
	}
	if r.DidYouMean != "" {
		fmt.Fprintf(&b, "did you mean: %s\n", phrase.Tame(r.DidYouMean))
	}
	if r.Indexed < r.Known {
		fmt.Fprintf(&b, "indexing: %d of %s so far\n", r.Indexed, phrase.Meetings(r.Known))
	}
	for _, found := range r.Meetings {
		fmt.Fprintf(&b, "\n%s  %s  (%d)\n", formatDay(found.Start), cmp.Or(phrase.Tame(found.Title), "Untitled"), found.RecordingID)
		for _, moment := range found.Moments {
			fmt.Fprintf(&b, "  %s%s\n", momentPlace(moment), formatSnippet(moment, colour))
			if page != "" {
				fmt.Fprintf(&b, "    %s\n", momentLink(page, found.RecordingID, moment))
			}
		}
		if page != "" && len(found.Moments) == 0 {
			fmt.Fprintf(&b, "    %s\n", momentLink(page, found.RecordingID, control.FoundMoment{}))
		}
		if found.Why != "" {
			fmt.Fprintf(&b, "  %s\n", phrase.Tame(found.Why))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// momentPlace writes the time of a moment, its part unless that is the transcript,
// and the speaker.
func momentPlace(m control.FoundMoment) string {
	var b strings.Builder
	if m.OffsetSeconds != nil {
		b.WriteString(api.FormatOffset(time.Duration(*m.OffsetSeconds)*time.Second) + "  ")
	}
	if part := search.PartName(api.Part(m.Part)); part != "" {
		b.WriteString("[" + part + "] ")
	}
	if name := phrase.Tame(m.Speaker); name != "" {
		b.WriteString(name + ": ")
	}
	return b.String()
}

func formatSnippet(m control.FoundMoment, colour bool) string {
	if len(m.Snippet) == 0 {
		return phrase.Tame(m.Text)
	}
	var b strings.Builder
	for _, s := range m.Snippet {
		if s.Hit && colour {
			b.WriteString("\x1b[1m" + phrase.TameLines(s.Text) + "\x1b[0m")
			continue
		}
		b.WriteString(phrase.TameLines(s.Text))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// formatDay writes an RFC 3339 time to the minute, and other text as it is.
func formatDay(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.Local().Format("2006-01-02 15:04")
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// errNoPage is the answer to --open and --links without a page.
var errNoPage = errors.New("search: there is no page to open: start `minutebook serve`")

// pageOf returns the address of the daemon's page.
func (m *Main) pageOf(ctx context.Context) (string, error) {
	page, err := call[control.PageResult](ctx, m, "page", struct{}{}, nil)
	if err == nil && page.URL == "" {
		err = errNoPage
	}
	return strings.TrimRight(page.URL, "/"), err
}

// momentLink returns the address of a moment of a meeting on the page.
func momentLink(page string, id int64, moment control.FoundMoment) string {
	link := fmt.Sprintf("%s/meetings/%d", page, id)
	if moment.OffsetSeconds != nil {
		link += fmt.Sprintf("?t=%d", *moment.OffsetSeconds)
	}
	return link
}

// openFirst opens the first moment of an answer in the browser.
func (m *Main) openFirst(ctx context.Context, page string, r control.SearchResult) error {
	if len(r.Meetings) == 0 {
		return nil // the answer has said so
	}
	first := control.FoundMoment{}
	if moments := r.Meetings[0].Moments; len(moments) > 0 {
		first = moments[0]
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	link := momentLink(page, r.Meetings[0].RecordingID, first)
	if err := exec.CommandContext(ctx, opener, link).Run(); err != nil {
		return fmt.Errorf("open %s in a browser: %w", link, err)
	}
	return nil
}
