package bucket

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"minutebook/internal/outbound"
)

const scheme = "s3://"

// partSize lets the 10,000 parts of an upload hold 160 GB.
const partSize = 16 << 20

// IsAddress reports whether a name of a place is the address of a bucket.
func IsAddress(s string) bool { return strings.HasPrefix(s, scheme) }

// foreign matches addresses of other kinds.
var foreign = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):/`)

// CheckPlace fails for a name that is neither a directory's nor the address of a bucket,
// such as https://…, which would otherwise become a directory here.
func CheckPlace(s string) error {
	if IsAddress(s) {
		return Check(s)
	}
	if found := foreign.FindStringSubmatch(s); found != nil {
		return fmt.Errorf("%s: is neither a directory nor s3://; write s3://bucket/prefix, or the path of a directory", found[1])
	}
	return nil
}

// Bucket is a prefix in a bucket. Its methods may be called at the same time.
type Bucket struct {
	client  *minio.Core
	creds   *credentials.Credentials
	address string
	host    string // of the server, for messages
	name    string
	prefix  string // "" or ending in a slash
	// PartSize is the size of an upload's parts in bytes, to be changed before the first
	// upload.
	PartSize int64
}

// address is a parsed address of a bucket.
type address struct {
	bucket, prefix  string
	endpoint        *url.URL
	region, profile string
}

// Check fails for an address that is not s3://BUCKET/PREFIX with the parameters of [Open].
// The error shows no part of the address that could be a secret.
func Check(s string) error {
	_, err := parse(s)
	return err
}

func parse(s string) (a address, err error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return a, errors.New("it is not s3://bucket/prefix")
	}
	if u.User != nil {
		return a, errors.New("it holds credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment instead")
	}
	for key := range u.Query() {
		if key != "endpoint" && key != "region" && key != "profile" {
			return a, fmt.Errorf("it has the unknown parameter %q; there are endpoint, region and profile", key)
		}
	}
	a = address{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), region: u.Query().Get("region"), profile: u.Query().Get("profile")}
	a.endpoint, err = url.Parse(u.Query().Get("endpoint"))
	if err != nil || a.endpoint.User != nil || a.endpoint.String() != "" && (a.endpoint.Host == "" || a.endpoint.Scheme != "https" && a.endpoint.Scheme != "http") {
		return a, errors.New("its endpoint is not an http or https URL")
	}
	if a.endpoint.Host == "" {
		a.endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	if s3utils.CheckValidBucketName(a.bucket) != nil {
		return a, errors.New("no bucket can have its name, which needs 3 to 63 letters, digits, dots and hyphens")
	}
	if a.prefix != "" {
		a.prefix += "/"
	}
	return a, nil
}

// credentials returns where the keys come from: the environment (AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), the shared credentials file or the machine's
// role. An address with a profile names a section of that file.
func (a address) credentials() *credentials.Credentials {
	if a.profile != "" {
		return credentials.NewFileAWSCredentials("", a.profile)
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport, Timeout: roleTimeout}}})
}

// Open opens the prefix that s3://BUCKET/PREFIX?endpoint=URL&region=NAME&profile=NAME
// names. The endpoint is Amazon's by default. Credentials never come from the address.
// The server is not asked yet: [Bucket.Check] asks it.
func Open(s string) (*Bucket, error) { return OpenWith(s, Line{}) }

// Line is how the server of a bucket is reached. The zero value is the network and the usual
// patience.
type Line struct {
	Transport http.RoundTripper // nil: the network
	Patience  outbound.Patience // for answers that drip
}

// OpenWith is [Open] with the line to the server.
func OpenWith(s string, line Line) (*Bucket, error) {
	a, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	creds := a.credentials()
	client, err := minio.NewCore(a.endpoint.Host, &minio.Options{
		Creds: creds, Secure: a.endpoint.Scheme == "https", Region: a.region,
		Transport: line.transport(), MaxRetries: maxTries})
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	return &Bucket{client: client, creds: creds, address: s, host: a.endpoint.Host, name: a.bucket, prefix: a.prefix, PartSize: partSize}, nil
}

// Address returns the address as [Open] took it.
func (b *Bucket) Address() string { return b.address }

// String names the bucket and its server for messages.
func (b *Bucket) String() string { return fmt.Sprintf("bucket %s at %s", b.name, b.host) }

// Key returns the name of an object in the bucket, prefix included.
func (b *Bucket) Key(name string) string { return b.prefix + name }
