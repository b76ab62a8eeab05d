package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const account = `
data_dir = "data"
[[accounts]]
name = "ada"
base_url = "https://api.example/external/v1"
`

func load(t *testing.T, text string, environ ...string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, "", environ)
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		environ    []string
		want       []string
	}{
		{"unknown key within braces", "data_dir = \"d\"\naccounts = [{ name = \"a\", base_url = \"https://x.example\", api_kee = \"k\" }]\n", nil, []string{`"api_kee"`, "line 2", "did you mean accounts.api_key?"}},
		{"unknown key", "data_dir = \"d\"\n[web]\n  lisen = \"x\"\n", nil, []string{`"web.lisen"`, "line 3", "column 3"}},
		{"not toml", "data_dir = \n", nil, []string{"line 1"}},
		{"wrong type", "data_dir = 4\n", nil, []string{"data_dir: takes a text in quotes, not an integer", "line 1"}},
		{"list for a text", "data_dir = \"d\"\n[web]\nlisten = [\"a\"]\n", nil, []string{"web.listen: takes a text in quotes, not an array"}},
		{"text for a number", "data_dir = \"d\"\n[process]\nthreads = \"x\"\n", nil, []string{"process.threads: takes a whole number, not a string"}},
		{"text for tables", "data_dir = \"d\"\naccounts = \"x\"\n", nil, []string{"accounts: takes tables in double brackets, not a string"}},
		{"tables for a table", "data_dir = \"d\"\n[[web]]\nlisten = \"a\"\n", nil, []string{"web: stands once"}},
		{"number for a table", "data_dir = \"d\"\nweb = 3\n", nil, []string{"web: takes a table, not an integer"}},
		{"duration without a unit", "data_dir = \"d\"\n[receiver]\nkeep_bodies = 30\n", nil, []string{"receiver.keep_bodies", "720h"}},
		{"variables", "data_dir = \"d\"\n", []string{"MINUTEBOOK_PROCESS_THREADS=x", "MINUTEBOOK_RECEIVER_KEEP_BODIES=long", "MINUTEBOOK_SERVICE_ENABLED=2"},
			[]string{"MINUTEBOOK_PROCESS_THREADS: takes a whole number", "MINUTEBOOK_RECEIVER_KEEP_BODIES: takes a duration such as \"720h\"", "MINUTEBOOK_SERVICE_ENABLED: takes true or false"}},
		{"retention below 0", "data_dir = \"d\"\n[[retention.rules]]\nmedia_after_days = -1\n", nil, []string{"retention.rules[0].media_after_days", "-1"}},
		{"retention never reached", "data_dir = \"d\"\n[[retention.rules]]\nmedia_after_days = 9\n[[retention.rules]]\nteams = [\"\"]\n", nil,
			[]string{"retention.rules[0]", "put it last", "retention.rules[1]", "empty"}},
		{"retention misspelt", "data_dir = \"d\"\n[[retention.rules]]\nmedia_after = 9\n", nil, []string{"media_after", "line 3"}},
		{"upkeep", "data_dir = \"d\"\n[backup]\nschedule = \"nightly\"\nkeep = 0\nprove = \"often\"\n[verify]\nschedule = \"0 0 31 2 *\"\ndays = 0\n", nil,
			[]string{"backup.schedule", "backup.to: is missing", "backup.keep", "backup.prove: \"often\" is none of never, daily", "verify.schedule", "verify.days"}},
		{"notify", "data_dir = \"d\"\n[notify]\nheartbeat = \"x\"\ndigest = \"hourly\"\ndigest_at = \"7 am\"\ndigest_to = [\"b\"]\ndigest_people = true\n[notify.mail]\nhost = \"h\"\nport = 0\ntls = \"ssl\"\n[[notify.hooks]]\nname = \"a\"\nformat = \"webhook\"\nurl = \"x\"\n[[notify.hooks]]\nname = \"a\"\nformat = \"irc\"\nurl = \"https://x.example\"\n", nil,
			[]string{"notify.heartbeat", "notify.digest: \"hourly\" is none", "notify.digest_at", "notify.digest_to: \"b\" is no channel", "notify.digest_people: needs", "notify.mail: needs from and to", "notify.mail.port", "notify.mail.tls", "a webhook needs a secret", "url is no http", "a name of its own", "format \"irc\""}},
		{"keys", account + "api_key=\"k\\nk\"\n[archive]\nage_recipients=[\"age1x\"]\n[backup]\nto=\"data/b\"\n[notify.mail]\nhost=\"h\"\nfrom=\"a\"\nto=[\"b@c\"]\n[[notify.hooks]]\nname=\"a\"\nformat=\"webhook\"\nurl=\"https://x.example\"\nsecret=\"whsec_!!\"\n", nil,
			[]string{"accounts[0].api_key: holds characters that no key has", "archive.age_recipients", "backup.to: ", "notify.mail: \"a\" is no address", "at least 16 bytes"}},
		{"one address twice", "data_dir = \"d\"\n[receiver]\nlisten = \"127.0.0.1:8377\"\n", nil, []string{"receiver.listen: 127.0.0.1:8377 is the address of the page"}},
		{"backup to an address", "data_dir = \"d\"\n[backup]\nto = \"https://s3.example/x\"\n", nil, []string{"backup.to: https: is neither a directory nor s3://"}},
		{"impossible buckets", "data_dir = \"d\"\n[backup]\nto = \"s3://bk/x\"\n[media]\nurl = \"s3://a..b/x\"\n", nil, []string{"backup.to: no bucket can have its name", "media.url: no bucket can have"}},
		{"credentials in addresses", "data_dir = \"d\"\n[backup]\nto = \"s3://key:TOPSECRET@bucket/x\"\n[media]\nurl = \"s3://key:TOPSECRET%@bucket\"\n", nil,
			[]string{"backup.to: it holds credentials; set AWS_ACCESS_KEY_ID", "media.url: it is not s3://bucket/prefix"}},
		{"recordings with a host", "data_dir = \"d\"\n[media]\nurl = \"file://TOPSECRET@host/x\"\n", nil, []string{"media.url: is none of file:, file:///path and s3://"}},
		{"recordings without a root", "data_dir = \"d\"\n[media]\nurl = \"file:media\"\n", nil, []string{"media.url: is none of"}},
		{"recordings of another kind", "data_dir = \"d\"\n[media]\nurl = \"https://s3.example/TOPSECRET\"\n", nil, []string{"media.url: is none of"}},
		{"recordings in a bucket without slashes", "data_dir = \"d\"\n[media]\nurl = \"s3:bucket\"\n", nil, []string{"media.url: is none of"}},
		{"import", "data_dir = \"d\"\n[import]\nwatch = \"d/in\"\nowner = \"Ada\"\nvisible_to = [\"team:\"]\n", nil, []string{"import.owner: \"Ada\" is no address", "import.visible_to: \"team:\" is neither", "import.watch: "}},
		{"import of everything", "data_dir = \"in/d\"\n[import]\nwatch = \"in\"\n", nil, []string{"import.watch: "}},
		{"wrong values in words", "data_dir = \"d\"\n[receiver]\ntrusted_proxies = [\"foo\"]\n[web]\ntrusted_proxies = [\"bar/99\"]\ntime_zone = \"../etc\"\n[sync]\ntime_zone = \"Mars/Base\"\nwalk = \"61 x * * *\"\n[archive]\nage_recipients = [\"AGE-SECRET-KEY-1TOPSECRET\"]\n", nil,
			[]string{"receiver.trusted_proxies: \"foo\" is no", "web.trusted_proxies: \"bar/99\" is no", "web.time_zone: \"../etc\" is no", "sync.time_zone: \"Mars/Base\" is no", "sync.walk: \"61 x * * *\" is no", "the text at place 1 is no public key"}},
		{"duration of years", "data_dir = \"d\"\n[audit]\nkeep = \"1y\"\n", nil, []string{"audit.keep: takes a duration"}},
		{"home of a shell", "data_dir = \"~/minutes\"\n[import]\nwatch = \"~\"\n[backup]\nto = \"~/backups\"\n", nil,
			[]string{`data_dir: "~/minutes" begins with ~`, `import.watch: "~" begins`, `backup.to: "~/backups" begins`, "./~/backups"}},
		{"home of a shell in a variable", "", []string{"MINUTEBOOK_DATA_DIR=~/minutes"}, []string{`data_dir: "~/minutes" begins with ~`}},
		{"no data_dir", "", nil, []string{"data_dir: is missing"}},
		{"no key", account, nil, []string{"accounts[0].api_key", `"ada"`, "MINUTEBOOK_ACCOUNT_ADA_API_KEY"}},
		{"empty key file", account + "api_key_file = \"/dev/null\"\n", nil, []string{"api_key_file", "empty"}},
		{"two keys", account + "api_key=\"k\"\n[accounts.oauth]\nclient_id=\"c\"\nclient_secret=\"s\"\nredirect_url=\"https://x.example/\"\n", nil, []string{"keep one"}},
		{"http redirect", account + "[accounts.oauth]\nclient_id=\"c\"\nclient_secret=\"s\"\nredirect_url=\"http://x.example/\"\n", nil, []string{"oauth.redirect_url"}},
		{"twice", account + "api_key=\"k\"\n[[accounts]]\nname=\"ada\"\nbase_url=\"https://api.example/external/v1\"\napi_key=\"k\"\n", nil, []string{`"ada" stands twice`}},
		{"no address of a person", account + "email=\"Ada <ada@example.org>\"\napi_key=\"k\"\n", nil, []string{"accounts[0].email", "no address such as"}},
		{"a user in the address", "data_dir=\"d\"\n[[accounts]]\nname=\"ada\"\nbase_url=\"https://u:sesame@api.example/external/v1\"\napi_key=\"k\"\n", nil, []string{"accounts[0].base_url", "has a user"}},
		{"two services", account + "api_key=\"k\"\n[[accounts]]\nname=\"bob\"\nbase_url=\"https://other.example/external/v1\"\napi_key=\"k\"\n", nil, []string{"accounts[1].base_url", "one service"}},
		{"name with a slash", strings.Replace(account, "ada", "a/b", 1), nil, []string{"accounts[0].name"}},
		{"cron that does not parse", account + "api_key=\"k\"\n[sync]\nwalk=\"every day\"\n", nil, []string{"sync.walk"}},
		{"cron that never fires", account + "api_key=\"k\"\n[sync]\nwalk=\"0 0 31 2 *\"\n", nil, []string{"sync.walk", "never fires"}},
		{"cron that panics", account + "api_key=\"k\"\n[sync]\nwalk=\"TZ=0\"\n", nil, []string{"sync.walk"}},
		{"public address without a listener", account + "api_key=\"k\"\n[receiver]\npublic_url=\"https://x.example\"\n", nil, []string{"receiver.listen"}},
		{"deliveries without TLS", account + "api_key=\"k\"\n[receiver]\nlisten=\"127.0.0.1:1\"\npublic_url=\"http://hooks.example\"\n", nil, []string{"receiver.public_url: is no https address"}},
		{"addresses with more than a path", account + "api_key=\"k\"\n[receiver]\nlisten=\"127.0.0.1:1\"\npublic_url=\"https://u:TOPSECRET@hooks.example/?x\"\n[service]\npublic_url=\"https://u:TOPSECRET@service.example\"\n", nil,
			[]string{"receiver.public_url: has a user", "service.public_url: is no http or https address of"}},
		{"service without a scheme", "data_dir = \"d\"\n[service]\npublic_url=\"service.example\"\n", nil, []string{"service.public_url: is no http or https address"}},
		{"empty fragment, and no host", account + "api_key=\"k\"\n[receiver]\nlisten=\"127.0.0.1:1\"\npublic_url=\"https://hooks.example/#\"\n[service]\npublic_url=\"http://:8080\"\n", nil,
			[]string{"receiver.public_url: has a user", "service.public_url: is no http or https address of"}},
		{"messages without a channel", "data_dir = \"d\"\n[notify]\ndigest=\"weekly\"\n[notify.mail]\nfrom=\"ada@example.org\"\n", nil, []string{"notify.digest: needs a channel"}},
		{"room below 0", "data_dir = \"d\"\n[media]\nmin_free_bytes=-5\n", nil, []string{"media.min_free_bytes: -5 is less than 0"}},
		{"half of TLS", account + "api_key=\"k\"\n[receiver]\ntls_cert=\"c.pem\"\n", nil, []string{"tls_key"}},
		{"no level", "data_dir = \"d\"\n[log]\nlevel = \"\"\n", nil, []string{"log.level: \"\" is none of trace, debug, info, warn, error"}},
		{"level of the library", "data_dir = \"d\"\n[log]\nlevel = \"disabled\"\n", nil, []string{"log.level: \"disabled\""}},
		{"level as a number", "data_dir = \"d\"\n[log]\nlevel = \"1\"\n", nil, []string{"log.level: \"1\""}},
		{"level from the environment", account + "api_key=\"k\"\n", []string{"MINUTEBOOK_LOG_LEVEL=loud"}, []string{"log.level"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.text, tt.environ...)
			if err == nil {
				t.Fatal("loaded")
			}
			if regexp.MustCompile(`config\.[A-Z]|strconv|struct field|netip|ParseAddr|unable to|time: |range \(`).MatchString(err.Error()) {
				t.Errorf("the error speaks of Go: %v", err)
			}
			if strings.Contains(err.Error(), "TOPSECRET") {
				t.Errorf("the error shows a secret: %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestLoadLaysEnvironmentOverFile(t *testing.T) {
	c, err := load(t, account+"api_key = \"from-file\"\n",
		"MINUTEBOOK_WEB_LISTEN=127.0.0.1:9", "MINUTEBOOK_ACCOUNT_ADA_API_KEY=from-env",
		"MINUTEBOOK_ACCOUNT_ADA_WEBHOOK_SECRETS=whsec_a,whsec_b")
	if err != nil {
		t.Fatal(err)
	}
	a := c.Accounts[0]
	if c.Web.Listen != "127.0.0.1:9" || a.APIKey != "from-env" || len(a.WebhookSecrets) != 2 {
		t.Errorf("got listen %q, key %q, secrets %q", c.Web.Listen, a.APIKey, a.WebhookSecrets)
	}
	if !filepath.IsAbs(c.DataDir) || filepath.Base(c.DataDir) != "data" {
		t.Errorf("data_dir %q is not anchored at the file's folder", c.DataDir)
	}
}

func TestLoadReadsKeyFile(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("  secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, account+"api_key_file = \""+key+"\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Accounts[0].APIKey != "secret" {
		t.Errorf("key is %q", c.Accounts[0].APIKey)
	}
}

func TestErrorsKeepSecrets(t *testing.T) {
	const secret = "mb_very_secret_key"
	for _, text := range []string{
		account + "api_key = \"" + secret + "\"\nnmae = 1\n",
		account + "api_key = \"" + secret + "\"\n[web]\nlisten = \"nowhere\"\n",
	} {
		_, err := load(t, text)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error is %v", err)
		}
	}
}

// TestAFolderMayHaveTheNameOfAHome names folders beside the file, and one in a file whose
// directory is another.
func TestAFolderMayHaveTheNameOfAHome(t *testing.T) {
	c, err := load(t, "data_dir = \"./~/minutes\"\n[backup]\nto = \"~kept\"\n")
	if err != nil || !strings.HasSuffix(c.DataDir, "/~/minutes") || !strings.HasSuffix(c.Backup.To, "/~kept") {
		t.Errorf("%+v, %v", c, err)
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("data_dir = \"~/minutes\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, "/elsewhere", nil); err != nil {
		t.Errorf("a directory that is not used is refused: %v", err)
	}
}

func TestLoadWithoutFile(t *testing.T) {
	dir := t.TempDir()
	c, err := Load("", dir, []string{"MINUTEBOOK_WEB_LISTEN=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if c.DataDir != dir || c.Web.Listen != "127.0.0.1:0" {
		t.Errorf("got data_dir %q, web.listen %q", c.DataDir, c.Web.Listen)
	}
}

// TestSecretsComeFromCredentials has systemd's directory with credentials, which only
// files named without a folder are looked for in.
func TestSecretsComeFromCredentials(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"ada.key": "of-systemd", "other.key": "of-systemd"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content+"\n"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	c, err := load(t, account+"api_key_file = \"ada.key\"\n", "CREDENTIALS_DIRECTORY="+dir)
	if err != nil || c.Accounts[0].APIKey != "of-systemd" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, file := range []string{"sub/other.key", "/missing/other.key", "missing.key"} {
		if _, err := load(t, account+"api_key_file = \""+file+"\"\n", "CREDENTIALS_DIRECTORY="+dir); err == nil {
			t.Errorf("%s was read", file)
		}
	}
}

// TestTheWatchedFolderIsAbsolute names the configuration by a path in the present folder, as
// -c config.toml does.
func TestTheWatchedFolderIsAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("config.toml", []byte("data_dir = \"data\"\n[import]\nwatch = \"talks\"\nowner = \"ada@acme.example\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Load("config.toml", "", nil); err != nil || c.Import.Watch != filepath.Join(dir, "talks") {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestRelativeFoldersDoNotLieInOneAnother loads a configuration by a relative path: the
// archive would have its own backups, or import itself, also where one of the folders is
// absolute.
func TestRelativeFoldersDoNotLieInOneAnother(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, folders := range [][2]string{{"d", "d/in"}, {"d", dir + "/d/in"}, {dir + "/d", "d/in"}, {"in/d", "in"}} {
		for _, setting := range []string{"[import]\nwatch", "[backup]\nto"} {
			text := fmt.Sprintf("data_dir = %q\n%s = %q\n", folders[0], setting, folders[1])
			if err := os.WriteFile("config.toml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load("config.toml", "", nil); err == nil || !strings.Contains(err.Error(), "one within the other") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// absentSecrets is a configuration whose secrets are in files that are not there.
const absentSecrets = account + `api_key_file = "none"
[[accounts]]
name = "app"
base_url = "https://api.example/external/v1"
[accounts.oauth]
client_id = "c"
client_secret_file = "none"
redirect_url = "https://x.example/"
[web]
access = "people"
public_url = "https://m.example"
[web.oidc]
issuer = "https://id.example"
client_id = "c"
client_secret_file = "none"
[web.accounts]
key_file = "none"
[web.accounts.oauth]
client_id = "c"
client_secret_file = "none"
[notify.mail]
password_file = "none"
`

// TestVariablesReplaceFilesOfSecrets has each secret in the environment, and a file in the
// configuration that is not there.
func TestVariablesReplaceFilesOfSecrets(t *testing.T) {
	keys := strings.Repeat("ab", 32)
	c, err := load(t, absentSecrets, "MINUTEBOOK_ACCOUNT_ADA_API_KEY=1", "MINUTEBOOK_ACCOUNT_APP_OAUTH_CLIENT_SECRET=2", "MINUTEBOOK_WEB_OIDC_CLIENT_SECRET=3",
		"MINUTEBOOK_WEB_ACCOUNTS_KEYS="+keys, "MINUTEBOOK_WEB_ACCOUNTS_OAUTH_CLIENT_SECRET=4", "MINUTEBOOK_NOTIFY_MAIL_PASSWORD=5")
	if err != nil {
		t.Fatal(err)
	}
	own := c.Web.Accounts
	if got := c.Accounts[0].APIKey + c.Accounts[1].OAuth.ClientSecret + c.Web.OIDC.ClientSecret + own.OAuth.ClientSecret + c.Notify.Mail.Password + own.Keys; got != "12345"+keys {
		t.Errorf("the secrets are %s", got)
	}
	// The file of a variable comes before a value of the configuration, too.
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = load(t, "data_dir = \"d\"\n[notify.mail]\npassword = \"old\"\n", "MINUTEBOOK_NOTIFY_MAIL_PASSWORD_FILE="+path)
	if err != nil || c.Notify.Mail.Password != "of the file" {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := load(t, "data_dir = \"d\"\n[notify.mail]\npassword = \"old\"\npassword_file = \""+path+"\"\n"); err == nil {
		t.Error("a password and its file, both of the configuration")
	}
}

// TestUnreadableSecretsHideNothing has each secret in a file that is not there, and another
// mistake: each is reported once, and nothing else.
func TestUnreadableSecretsHideNothing(t *testing.T) {
	text := absentSecrets + `[[notify.hooks]]
name = "hook"
format = "webhook"
url_file = "none"
secret_file = "none"
token_file = "none"
[sync]
walk = "every day"
`
	_, err := load(t, text)
	if err == nil {
		t.Fatal("it is accepted")
	}
	for _, setting := range []string{"accounts[0].api_key_file (ada)", "accounts[1].oauth.client_secret_file (app)", "web.oidc.client_secret_file", "web.accounts.key_file",
		"web.accounts.oauth.client_secret_file", "notify.mail.password_file", "notify.hooks[0].url_file (hook)", "notify.hooks[0].secret_file (hook)", "notify.hooks[0].token_file (hook)"} {
		if !strings.Contains(err.Error(), setting+": open ") {
			t.Errorf("%s is not reported", setting)
		}
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 10 || !strings.Contains(err.Error(), "\nsync.walk: ") {
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
}

// TestFindDataDir finds the folder that Load finds, by each way that names it.
func TestFindDataDir(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := filepath.Join("sub", "config.toml")
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text, dataDir string
		environ       []string
	}{
		{"data_dir = \"data\"\n", "", nil},
		{"  data_dir = '/srv/d' # here\n[web]\n", "", nil},
		{"data_dir = \"data\"\r\n", "", nil},
		{"data_dir = \"data\"\n", "given", []string{"MINUTEBOOK_DATA_DIR=other"}},
		{"data_dir = \"data\"\n", "", []string{"MINUTEBOOK_DATA_DIR=other"}},
		{"", "", []string{"MINUTEBOOK_DATA_DIR=other"}},
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path, tc.dataDir, tc.environ)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := FindDataDir(path, tc.dataDir, tc.environ); err != nil || got != c.DataDir {
			t.Errorf("%q: %s, %v, want %s", tc.text, got, err, c.DataDir)
		}
	}
}
