package config

// Web is the page's listener, and who may enter.
type Web struct {
	Listen string `toml:"listen" env:"LISTEN"` // host:port, loopback unless changed
	// Access is AccessOwner, AccessPeople or AccessProxy.
	Access string `toml:"access" env:"ACCESS" reload:"live"`
	// PublicURL is the address under which people reach the page, without a slash at
	// the end. Its path is the page's base path behind a proxy. Empty: Listen's own,
	// for the owner.
	PublicURL string `toml:"public_url" env:"PUBLIC_URL" reload:"live"`
	TLSCert   string `toml:"tls_cert" env:"TLS_CERT"` // file, read again when it changes
	TLSKey    string `toml:"tls_key" env:"TLS_KEY"`
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []string `toml:"trusted_proxies" env:"TRUSTED_PROXIES"` // CIDRs
	// Passwords lets people sign in with a password or a passkey of their own here.
	Passwords bool `toml:"passwords" env:"PASSWORDS" reload:"live"`
	// ProxyHeader has the address of the person who asks, where Access is
	// AccessProxy. It is taken from ProxyNetworks only, by the connection's own
	// address.
	ProxyHeader   string   `toml:"proxy_header" env:"PROXY_HEADER" reload:"live"`
	ProxyNetworks []string `toml:"proxy_networks" env:"PROXY_NETWORKS"` // CIDRs
	// MetricsListen is a listener of its own for /metrics and /healthz. Empty: the
	// page has them, for the owner and for admins.
	MetricsListen string `toml:"metrics_listen" env:"METRICS_LISTEN"`
	// Hosts are further host names of the page, besides loopback, the listening
	// address and the one of PublicURL. A request for another Host is refused, so
	// that no foreign page can read the archive through DNS.
	Hosts []string `toml:"hosts" env:"HOSTS" reload:"live"`
	// TimeZone is the IANA name of the zone in which the page shows times; empty
	// means the machine's own.
	TimeZone string `toml:"time_zone" env:"TIME_ZONE" reload:"live"`
	OIDC     OIDC   `toml:"oidc" envPrefix:"OIDC_" reload:"live"`
	// Accounts lets people connect their own accounts at the service on the page.
	Accounts OwnAccounts `toml:"accounts" envPrefix:"ACCOUNTS_"`
}

// The values of Web.Access.
const (
	AccessOwner  = "owner"  // nobody is asked; only this machine can reach the page
	AccessPeople = "people" // everybody signs in
	AccessProxy  = "proxy"  // a proxy in front says who asks
)

// OIDC lets people sign in at an OpenID Connect provider.
type OIDC struct {
	Issuer           string   `toml:"issuer" env:"ISSUER"` // empty: no sign-in of this kind
	ClientID         string   `toml:"client_id" env:"CLIENT_ID"`
	ClientSecretFile string   `toml:"client_secret_file" env:"CLIENT_SECRET_FILE"`
	ClientSecret     string   `toml:"-" env:"CLIENT_SECRET" secret:"true"` // from the file or the environment
	AllowedDomains   []string `toml:"allowed_domains" env:"ALLOWED_DOMAINS"`
	AdminGroup       string   `toml:"admin_group" env:"ADMIN_GROUP"` // empty: admins are made here
	Join             string   `toml:"join" env:"JOIN"`               // JoinInvited, JoinDirectory or JoinDomain
	// TrustEmail accepts an address without email_verified, for an issuer of one
	// organisation that gives out no addresses but its own.
	TrustEmail bool `toml:"trust_email" env:"TRUST_EMAIL"`
}

// The values of OIDC.Join: who becomes a person by signing in.
const (
	JoinInvited   = "invited"   // who was added before
	JoinDirectory = "directory" // whom the service's own users list
	JoinDomain    = "domain"    // everybody of AllowedDomains
)

// Audit is the record of sign-ins, changes and exports, by person.
type Audit struct {
	Reads bool     `toml:"reads" env:"READS"` // also who opened, played or downloaded which meeting
	Keep  Duration `toml:"keep" env:"KEEP"`   // 0: for good
}
