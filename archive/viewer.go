package archive

import "context"

// Viewer is for whom something is read: All for the owner of the archive, else
// the person of that email, who sees what the service would show them.
type Viewer struct {
	All   bool
	Email string
}

// visibleTerm is the condition on meetings m for what a viewer sees; "" is no
// condition. A person sees what they recorded.
func (a *Archive) visibleTerm(_ context.Context, v Viewer) (string, []any, error) {
	if v.All {
		return "", nil, nil
	}
	return `m.recorded_by_email = ? COLLATE NOCASE`, []any{v.Email}, nil
}
