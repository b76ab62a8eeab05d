package notes

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"minutebook/archive"
)

// MakeFeed gives a person's saved search a feed and returns the secret of its address,
// which is kept only as a hash. An earlier secret stops working.
func (d *DB) MakeFeed(ctx context.Context, person, id int64, seen time.Time) (secret string, err error) {
	secret = newSecret(base64.RawURLEncoding)
	return secret, d.updateSaved(ctx, person, id, seen, `feed = ?`, hashSecret(secret))
}

// EndFeed ends the feed of a person's saved search.
func (d *DB) EndFeed(ctx context.Context, person, id int64, seen time.Time) error {
	return d.updateSaved(ctx, person, id, seen, `feed = NULL`)
}

// ByFeed returns the saved search whose feed has this secret, or fails with
// [archive.ErrNotFound].
func (d *DB) ByFeed(ctx context.Context, secret string) (SavedSearch, error) {
	found, err := d.listSaved(ctx, `feed = ?`, hashSecret(secret))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read a feed: %w", archive.ErrNotFound)
	}
	if err != nil {
		return SavedSearch{}, err
	}
	return found[0], nil
}

// ByNotify returns a saved search of anybody that is notified, by its number. It fails with
// [archive.ErrNotFound] for any other number.
func (d *DB) ByNotify(ctx context.Context, id int64) (SavedSearch, error) {
	found, err := d.listSaved(ctx, `id = ? AND notify <> ''`, id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read a saved search: %w", archive.ErrNotFound)
	}
	if err != nil {
		return SavedSearch{}, err
	}
	return found[0], nil
}

// SetNotify has new matches of a person's saved search notified at an address, and
// returns the secret with which webhooks are signed; "" ends them. Links in mails are
// signed with a secret that is not returned. Meetings from before the first address are not
// notified, also when they change. It fails with ErrAddress.
func (d *DB) SetNotify(ctx context.Context, person, id int64, address string, seen time.Time) (secret string, err error) {
	if address == "" {
		return "", d.updateSaved(ctx, person, id, seen, `notify = '', secret = ''`)
	}
	if err := checkAddress(address); err != nil {
		return "", err
	}
	secret = "whsec_" + newSecret(base64.StdEncoding)
	head, err := d.archive.Head(ctx)
	if err != nil {
		return "", fmt.Errorf("change a saved search: %w", err)
	}
	err = d.updateSaved(ctx, person, id, seen, `since_epoch = iif(notify = '', ?, since_epoch), since_seq = iif(notify = '', ?, since_seq),
		seen_epoch = iif(notify = '', ?, seen_epoch), seen_seq = iif(notify = '', ?, seen_seq), notify = ?, secret = ?`,
		head.Epoch, head.Seq, head.Epoch, head.Seq, address, secret)
	if strings.HasPrefix(address, "mailto:") {
		secret = ""
	}
	return secret, err
}

// EndOutlets ends the feeds and webhooks of a person's saved searches. E-mail stays: it goes to
// the person's own addresses. It asks no guard of the context.
func (d *DB) EndOutlets(ctx context.Context, person int64) error {
	_, err := d.db.ExecContext(ctx, `UPDATE saved_searches SET feed = NULL, notify = iif(notify LIKE 'mailto:%', notify, ''),
		secret = iif(notify LIKE 'mailto:%', secret, ''), changed_at = max(?, changed_at + 1)
		WHERE person = ? AND (feed IS NOT NULL OR notify <> '' AND notify NOT LIKE 'mailto:%')`, d.now().UnixMilli(), person)
	if err != nil {
		return fmt.Errorf("end feeds and webhooks: %w", err)
	}
	return nil
}

// EndNotify ends the notifications of a saved search. It fails with [archive.ErrNotFound]
// when their address was changed, or given again, since the search was read.
func (d *DB) EndNotify(ctx context.Context, read SavedSearch) error {
	return d.write(ctx, "end notifications", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET `+endNotify+` WHERE `+asRead, read.ID, read.Notify, read.Secret, d.now().UnixMilli()))
	})
}

// EndNotifyAll is EndNotify of all saved searches of the person that are notified at the
// address.
func (d *DB) EndNotifyAll(ctx context.Context, read SavedSearch) error {
	return d.write(ctx, "end notifications", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET `+endNotify+` WHERE notify = ?2 AND person = (
			SELECT person FROM saved_searches WHERE `+asRead+`)`, read.ID, read.Notify, read.Secret, d.now().UnixMilli()))
	})
}

// endNotify is a change that ends the notifications: it has a time of its own.
const endNotify = `notify = '', secret = '', changed_at = max(?4, changed_at + 1)`

// asRead is the condition that a saved search has the address and the secret with which
// it was read.
const asRead = `id = ?1 AND notify = ?2 AND secret = ?3`

func checkAddress(address string) error {
	if to, ok := strings.CutPrefix(address, "mailto:"); ok {
		if parsed, err := mail.ParseAddress(to); err != nil || parsed.Address != to {
			return ErrAddress
		}
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ErrAddress
	}
	return nil
}

// newSecret returns 256 random bits.
func newSecret(encoding *base64.Encoding) string {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return encoding.EncodeToString(key)
}

// hashSecret returns a secret as it is kept: it is random and long, so that a plain hash
// cannot be turned back.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
