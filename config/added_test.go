package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAccountsOfThePageFollowThoseOfTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	text := "data_dir = \"data\"\n[[accounts]]\nname = \"first\"\nbase_url = \"https://service.example/external/v1\"\napi_key = \"k1\"\n"
	data := filepath.Join(dir, "data")
	for _, err := range []error{os.WriteFile(path, []byte(text), 0o600), os.Mkdir(data, 0o700),
		AddAccount(data, Account{Name: "main", BaseURL: "https://service.example/external/v1", Email: "ada@company.example", APIKey: "secret-key"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := AddAccount(data, Account{Name: "main", BaseURL: "https://service.example/external/v1", APIKey: "other"}); err == nil {
		t.Error("an account is added twice")
	}
	added := filepath.Join(data, AddedName)
	if info, err := os.Stat(added); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	c, err := Load(path, "", nil)
	if err != nil || len(c.Accounts) != 2 || c.Accounts[1].Name != "main" || c.Accounts[1].APIKey != "secret-key" || c.Accounts[1].Email != "ada@company.example" || c.Accounts[1].AllowPrivate {
		t.Fatalf("loaded: %+v, %v", c, err)
	}
	// Its variables come first, as those of the other accounts do.
	c, err = Load(path, "", []string{"MINUTEBOOK_ACCOUNT_MAIN_API_KEY=of-variable", "MINUTEBOOK_ACCOUNT_MAIN_WEBHOOK_SECRETS=whsec_a whsec_b", "MINUTEBOOK_ACCOUNT_FIRST_API_KEY=k2"})
	if err != nil || c.Accounts[1].APIKey != "of-variable" || len(c.Accounts[1].WebhookSecrets) != 2 || c.Accounts[0].APIKey != "k2" {
		t.Errorf("with variables: %+v, %v", c, err)
	}
	for address, want := range map[string]bool{"http://127.0.0.1:8390/external/v1": true, "http://localhost/external/v1": true,
		"https://192.168.1.4/external/v1": true, "https://8.8.8.8/external/v1": false, "https://localhost.example/external/v1": false} {
		if isPrivate(address) != want {
			t.Errorf("%s is private: %v", address, !want)
		}
	}
	if err := os.WriteFile(added, []byte("[[accounts]]\nname = \"main\"\napi_kye = \"secret-key\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, "", nil); err == nil || strings.Contains(err.Error(), "secret-key") || !strings.Contains(err.Error(), AddedName) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if err := os.Remove(added); err != nil {
		t.Fatal(err)
	}
	if err := AddAccount(data, Account{Name: "main", BaseURL: "https://other.example/external/v1", APIKey: "k"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, "", nil); err == nil {
		t.Error("an account of another service is loaded")
	}
	if err := RemoveAccount(data, "main"); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(path, "", nil); err != nil || len(c.Accounts) != 1 {
		t.Errorf("after the account was taken back: %v, %v", c, err)
	}
}

// TestAddedAccountsStayInTheDirectoryThatRuns loads a file beside a process, after data_dir was
// changed for the next start.
func TestAddedAccountsStayInTheDirectoryThatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, running := filepath.Join(dir, "config.toml"), filepath.Join(dir, "data")
	for _, err := range []error{os.WriteFile(path, []byte("data_dir = \"moved\"\n"), 0o600), os.Mkdir(running, 0o700), os.Mkdir(filepath.Join(dir, "moved"), 0o700),
		AddAccount(running, Account{Name: "main", BaseURL: "https://service.example/external/v1", APIKey: "k"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := LoadBeside(running, path, "", nil)
	if err != nil || len(c.Accounts) != 1 || c.Accounts[0].Name != "main" || filepath.Base(c.DataDir) != "moved" {
		t.Errorf("beside the process: %+v, %v", c, err)
	}
	if c, err = Load(path, "", nil); err != nil || len(c.Accounts) != 0 {
		t.Errorf("at the next start: %+v, %v", c, err)
	}
}
