package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"minutebook/control"
)

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
