package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/web/access"
)

// AuditRequest chooses rows of the audit. The events are the rows, each an
// [AuditLine], the oldest first.
type AuditRequest struct {
	// Person is an address or the id of a person, who did it or whom it is about;
	// "" for all.
	Person string    `json:"person,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// AuditLine is a row with the present addresses of the people whom it names.
type AuditLine struct {
	access.Event
	ActorAddress  string `json:"actor_address,omitempty"`
	PersonAddress string `json:"person_address,omitempty"`
}

// AuditResult counts the rows.
type AuditResult struct {
	Rows int `json:"rows"`
}

// auditPage is the number of rows that are read at a time.
const auditPage = 1000

func (h Deps) showAudit(ctx context.Context, q AuditRequest, emit Emit) (*AuditResult, error) {
	db, err := h.Access(ctx)
	if err != nil {
		return nil, err
	}
	query := access.EventQuery{Since: q.Since, Limit: auditPage, Oldest: true}
	if query.Person, err = h.findActor(ctx, q.Person); err != nil {
		return nil, err
	}
	addresses := addressBook{db: db}
	result := &AuditResult{}
	for {
		events, err := db.Events(ctx, query)
		if err != nil || len(events) == 0 {
			return result, err
		}
		for _, e := range events {
			line := AuditLine{Event: e}
			if actor, err := strconv.ParseInt(string(e.Actor), 10, 64); err == nil {
				if line.ActorAddress, err = addresses.find(ctx, actor); err != nil {
					return nil, err
				}
			}
			if e.IDs.Person != 0 {
				if line.PersonAddress, err = addresses.find(ctx, e.IDs.Person); err != nil {
					return nil, err
				}
			}
			if err := emit(line); err != nil {
				return nil, err
			}
			result.Rows++
		}
		query.After = events[len(events)-1].Seq
	}
}

// findActor returns the id of a person by address or by id; "" is 0.
func (h Deps) findActor(ctx context.Context, person string) (int64, error) {
	if person == "" {
		return 0, nil
	}
	if id, err := strconv.ParseInt(person, 10, 64); err == nil && id > 0 {
		return id, nil
	}
	_, p, err := h.findUser(ctx, person)
	return p.ID, err
}

// recordEvent records that a command does something, before it does it.
func (h Deps) recordEvent(ctx context.Context, kind access.EventKind, ids access.IDs) error {
	db, err := h.Access(ctx)
	if err != nil {
		return err
	}
	return db.Record(ctx, access.Event{Actor: access.ActorCommand, Kind: kind, IDs: ids})
}

// verifyAudit returns a damage for each break in the audit's chain.
func (h Deps) verifyAudit(ctx context.Context) ([]archive.Damage, error) {
	path := filepath.Join(h.Archive.Dir(), access.Name)
	if _, err := os.Stat(path); err != nil {
		return nil, nil // there is none; a missing database is reported with the others
	}
	var breaks []string
	db, err := h.Access(ctx)
	if err == nil {
		breaks, err = db.CheckAudit(ctx)
	}
	if errors.Is(err, archive.ErrDamaged) {
		return nil, nil // likewise
	}
	var damages []archive.Damage
	for _, b := range breaks {
		damages = append(damages, archive.Damage{Class: archive.DamageAudit, Path: path, What: b})
	}
	return damages, err
}
