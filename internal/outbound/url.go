package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURL is how long an address to send to may be, in bytes.
const maxURL = 2048

// CheckURL fails when text is no http or https address, or, unless private ones are
// allowed, names a host that may not be dialled. Host names are checked when they are
// dialled. The error is the end of a sentence about the address and does not repeat it.
func CheckURL(text string, allowPrivate bool) error {
	switch u, err := url.Parse(text); {
	case len(text) > maxURL:
		return fmt.Errorf("is longer than %d bytes", maxURL)
	case !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError):
		return errors.New("is not valid UTF-8")
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil:
		return errors.New("must be an absolute http or https URL")
	case !isValidPort(u):
		return errors.New("has a port that is not from 1 to 65535")
	case !allowPrivate && !mayBeGlobal(u.Hostname()):
		return errors.New("must be globally reachable")
	}
	return nil
}

func isValidPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

// mayBeGlobal reports whether a host is a globally routable address, or a name that
// may lead to one.
func mayBeGlobal(host string) bool {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil { // as the dialling does: 127。0。0。1 is 127.0.0.1
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return isGlobal(addr)
	}
	return host != "localhost" && !strings.HasSuffix(host, ".localhost") && !endsInNumber(host)
}

// endsInNumber reports whether a host ends in a number, such as 127.1 or 0x7f000001:
// many programs take such a host for an address, and no name is written so.
func endsInNumber(host string) bool {
	last := host[strings.LastIndex(host, ".")+1:]
	if hex, found := strings.CutPrefix(last, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
