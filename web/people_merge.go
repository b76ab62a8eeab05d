package web

import "net/http"

// mergePeople answers POST /people/merge: keep and other become one person. Merging
// groups names that everybody sees anyway, so admins do it for all.
func (s *server) mergePeople(w http.ResponseWriter, r *http.Request) error {
	keep, other, err := s.twoPeople(r)
	if err != nil {
		return err
	}
	if _, err := s.Notes.Merge(r.Context(), personOf(r.Context()), keep, other); err != nil {
		return toNotesFailure(err)
	}
	return s.seeOther(w, r, backAddress(r, personAddress(keep)))
}

// keepPeopleApart answers POST /people/apart: keep and other are not one person.
func (s *server) keepPeopleApart(w http.ResponseWriter, r *http.Request) error {
	keep, other, err := s.twoPeople(r)
	if err != nil {
		return err
	}
	if _, err := s.Notes.KeepApart(r.Context(), personOf(r.Context()), keep, other); err != nil {
		return toNotesFailure(err)
	}
	return s.seeOther(w, r, backAddress(r, "/people"))
}

// undoMerge answers POST /people/undo.
func (s *server) undoMerge(w http.ResponseWriter, r *http.Request) error {
	id, err := formNumber(r, "merge")
	if err != nil {
		return err
	}
	if err := s.Notes.Undo(r.Context(), id); err != nil {
		return toNotesFailure(err)
	}
	return s.seeOther(w, r, backAddress(r, "/people"))
}

// twoPeople reads the keys of two people of a form, whom the visitor sees.
func (s *server) twoPeople(r *http.Request) (keep, other string, err error) {
	view, err := s.view(r.Context())
	if err != nil {
		return "", "", err
	}
	for field, key := range map[string]*string{"keep": &keep, "other": &other} {
		d, err := s.findPerson(r, view, r.PostForm.Get(field))
		if err != nil {
			return "", "", err
		}
		*key = d.Key
	}
	if keep == other {
		return "", "", &failure{http.StatusUnprocessableEntity, "They are one person already."}
	}
	return keep, other, nil
}

// backAddress returns the address that a form leads back to.
func backAddress(r *http.Request, otherwise string) string {
	if back := r.PostForm.Get("back"); back != "" {
		return localPath(back)
	}
	return otherwise
}
