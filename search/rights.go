package search

import (
	"errors"
	"fmt"
	"slices"

	"minutebook/archive"
)

// restrictTo takes the meetings away that a viewer may not see. The index has
// followed the archive to reached, or further.
func (s *snapshot) restrictTo(viewer archive.Viewer, reached archive.Position) error {
	if viewer.All {
		return nil
	}
	all, seen := s.visible(), s.empty()
	deactivated, err := s.x.archive.IsDeactivated(s.ctx, viewer.Emails)
	if err != nil {
		return fmt.Errorf("find the meetings that the viewer may see: %w", err)
	}
	addresses := viewer.Emails
	if deactivated { // by one address: no other one counts
		addresses = nil
	}
	var principals []string
	for _, email := range addresses {
		s.setVisible(all.clone())
		a, err := s.restrictToAddress(email, reached)
		if err != nil {
			return fmt.Errorf("find the meetings that the viewer may see: %w", err)
		}
		s.addresses = append(s.addresses, a)
		seen.or(a.seen)
		principals = append(principals, s.principals...)
	}
	s.setVisible(seen)
	s.viewer, s.principals = viewer, principals
	return nil
}

// restrictToAddress takes the meetings away that one address may not see, and returns
// its rights.
func (s *snapshot) restrictToAddress(email string, reached archive.Position) (a addressRights, err error) {
	viewer := archive.ViewerWith(email)
	s.viewer = viewer
	if a.crm, err = s.x.archive.CRMPrincipals(s.ctx, viewer); err != nil {
		return a, err
	}
	if s.principals, err = s.x.archive.ViewerPrincipals(s.ctx, viewer); err != nil {
		return a, err
	}
	keys := make([]string, len(s.principals))
	for i, p := range s.principals {
		keys[i] = keySees + p
	}
	if a.seen, err = s.withKeys(keys...); err != nil {
		return a, err
	}
	s.setVisible(a.seen)
	return a, s.hideChanged(reached) // from a.seen too
}

// setVisible makes the meetings of a set those that the viewer sees.
func (s *snapshot) setVisible(set meetingSet) {
	for i, m := range s.segments {
		m.visible = set[i]
	}
}

// hideChanged hides the meetings that the index shows to the viewer and that the
// archive does not show any more: the index follows the archive, so it still
// holds rights that have just ended. A meeting that has just become visible is
// found once it is indexed.
func (s *snapshot) hideChanged(reached archive.Position) error {
	for {
		changes, err := s.x.archive.Changes(s.ctx, reached, batchChanges)
		if errors.Is(err, archive.ErrForeignEpoch) { // restored: the changed meetings are unknown
			return s.hideAny()
		}
		if err != nil || len(changes) == 0 {
			return err
		}
		var ids []int64
		for _, c := range changes {
			if s.isShown(c.RecordingID) {
				ids = append(ids, c.RecordingID)
			}
		}
		if err := s.hideEnded(ids); err != nil {
			return err
		}
		reached.Seq = changes[len(changes)-1].Seq
	}
}

// hideAny asks the archive about every meeting that the index shows.
func (s *snapshot) hideAny() error {
	var ids []int64
	for _, m := range s.segments {
		eachDocument(m.visible, func(doc uint32) { ids = append(ids, m.columns.id[doc]) })
	}
	for chunk := range slices.Chunk(ids, batchChanges) {
		if err := s.hideEnded(chunk); err != nil {
			return err
		}
	}
	return nil
}

// hideEnded hides those of the meetings that the archive does not show to the
// viewer.
func (s *snapshot) hideEnded(ids []int64) error {
	visible, err := s.stillShown(ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if visible[id] {
			continue
		}
		for _, m := range s.segments {
			if doc, ok := m.columns.places.find(id); ok {
				m.visible.Remove(doc)
			}
		}
	}
	return nil
}

// stillShown asks the archive which of the meetings the viewer sees now.
func (s *snapshot) stillShown(ids []int64) (map[int64]bool, error) {
	visible := make(map[int64]bool, len(ids))
	if s.seesAll {
		for _, id := range ids {
			visible[id] = true
		}
		return visible, nil
	}
	if len(ids) == 0 {
		return visible, nil
	}
	return s.x.archive.SeenOf(s.ctx, s.viewer, ids)
}

// isShown reports whether the viewer sees a meeting.
func (s *snapshot) isShown(id int64) bool {
	_, _, ok := s.place(id)
	return ok
}
