package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/internal/outbound"
	"minutebook/internal/sqlite"
)

// App is an OAuth app (5.5).
type App struct {
	ClientID     string    `json:"client_id"`
	Name         string    `json:"name"`
	Development  bool      `json:"development"`
	RedirectURIs []string  `json:"redirect_uris"`
	CreatedAt    time.Time `json:"created_at"`

	secretHash []byte
}

// CreateApp registers an app and returns it with its secret, which is shown
// once. Redirect URIs use HTTPS; several are for apps marked development only.
func (s *Service) CreateApp(ctx context.Context, name string, redirectURIs []string, development bool) (app App, secret string, err error) {
	app = App{Name: name, Development: development, RedirectURIs: redirectURIs, CreatedAt: s.now().Truncate(time.Millisecond).UTC()}
	if err := app.check(); err != nil {
		return App{}, "", fmt.Errorf("create app: %w", err)
	}
	if app.ClientID, err = s.store.newID("app_"); err != nil {
		return App{}, "", err
	}
	if secret, err = s.store.newSecret("mbs_"); err != nil {
		return App{}, "", err
	}
	err = s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO apps (client_id, secret_hash, name, development, created_at) VALUES (?, ?, ?, ?, ?)`,
			app.ClientID, hashSecret(secret), name, development, app.CreatedAt.UnixMilli())
		for _, uri := range redirectURIs {
			if err != nil {
				break
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO app_redirects (client_id, uri) VALUES (?, ?)`, app.ClientID, uri)
		}
		return err
	})
	if err != nil {
		return App{}, "", fmt.Errorf("create app: %w", err)
	}
	return app, secret, nil
}

func (a *App) check() error {
	if a.Name == "" {
		return errors.New("it needs a name")
	}
	if len(a.RedirectURIs) == 0 {
		return errors.New("it needs a redirect URI")
	}
	if len(a.RedirectURIs) > 1 && !a.Development {
		return errors.New("several redirect URIs are for development apps only; production needs one app for each")
	}
	slices.Sort(a.RedirectURIs)
	a.RedirectURIs = slices.Compact(a.RedirectURIs)
	for _, uri := range a.RedirectURIs {
		if err := CheckRedirect(uri); err != nil {
			return fmt.Errorf("redirect URI %.100q %w", uri, err)
		}
	}
	return nil
}

// CheckRedirect fails for an address to which no app may send the people who consent.
func CheckRedirect(uri string) error {
	if !strings.HasPrefix(strings.ToLower(uri), "https://") || strings.Contains(uri, "#") {
		return errors.New("is not an https:// address without a fragment")
	}
	return outbound.CheckURL(uri, true) // a browser goes there, not this program
}

// Apps lists the apps.
func (s *Service) Apps(ctx context.Context) ([]App, error) {
	apps := []App{}
	ids, err := sqlite.Column[string](ctx, s.store.db.R, `SELECT client_id FROM apps ORDER BY created_at, client_id`)
	if err != nil {
		return nil, fmt.Errorf("list apps: %w", err)
	}
	for _, id := range ids {
		app, err := s.store.app(ctx, id)
		if err != nil {
			return nil, err
		}
		if app != nil {
			apps = append(apps, *app)
		}
	}
	return apps, nil
}

// DeleteApp removes an app; its tokens stop working.
func (s *Service) DeleteApp(ctx context.Context, clientID string) error {
	res, err := s.store.db.ExecContext(ctx, `DELETE FROM apps WHERE client_id = ?`, clientID)
	if err != nil {
		return fmt.Errorf("delete app: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(fmt.Errorf("delete app %s: there is no such app", clientID), err)
	}
	return nil
}

// AuthorizeApp consents for a person without the page, in a sandbox only, and
// returns the code.
func (s *Service) AuthorizeApp(ctx context.Context, clientID, email, redirectURI string) (string, error) {
	if !s.opts.Sandbox {
		return "", errors.New("authorize app: over an archive each person consents on the authorization page; only a sandbox does without")
	}
	app, err := s.store.app(ctx, clientID)
	if err != nil {
		return "", err
	}
	if app == nil {
		return "", fmt.Errorf("authorize app: there is no app %q; see `minutebook service apps list`", clientID)
	}
	if redirectURI == "" && len(app.RedirectURIs) == 1 {
		redirectURI = app.RedirectURIs[0]
	}
	if !slices.Contains(app.RedirectURIs, redirectURI) {
		return "", fmt.Errorf("authorize app: %q is not one of its redirect URIs", redirectURI)
	}
	if err := s.mirror.Refresh(ctx); err != nil {
		return "", err
	}
	email = api.FoldEmail(email)
	if !s.mirror.IsActive(email) {
		return "", fmt.Errorf("authorize app: %s is not an active user here", email)
	}
	return s.store.newCode(ctx, authRequest{clientID: clientID, email: email, redirectURI: redirectURI, scope: publicScope})
}

// app reads an app; nil when there is none.
func (st store) app(ctx context.Context, clientID string) (*App, error) {
	a := &App{ClientID: clientID}
	var created int64
	err := st.db.R.QueryRowContext(ctx, `SELECT secret_hash, name, development, created_at FROM apps WHERE client_id = ?`, clientID).
		Scan(&a.secretHash, &a.Name, &a.Development, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read app: %w", err)
	}
	a.CreatedAt = sqlite.Time(created)
	a.RedirectURIs, err = sqlite.Column[string](ctx, st.db.R, `SELECT uri FROM app_redirects WHERE client_id = ? ORDER BY uri`, clientID)
	if err != nil {
		return nil, fmt.Errorf("read app: %w", err)
	}
	return a, nil
}
