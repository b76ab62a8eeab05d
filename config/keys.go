package config

import (
	"reflect"
	"slices"
	"strings"

	"minutebook/internal/nearest"
)

// eachSetting calls visit with the key and the variable of every setting below t, those
// of repeated tables too, which have no variable.
func eachSetting(t reflect.Type, key, variable string, visit func(key, variable string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, bound := key+settingName(f), ""
		if env := f.Tag.Get("env"); env != "" && variable != "" {
			bound = variable + env
		}
		inner, below := f.Type, ""
		if prefix, ok := f.Tag.Lookup("envPrefix"); ok {
			below = variable + prefix
		}
		if inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if isTable(inner) {
			eachSetting(inner, name+".", below, visit)
			continue
		}
		visit(name, bound)
	}
}

// nearestKey returns the key that a person may have meant, "" where none comes near:
// one that is spelt alike, or the same word, or one that is spelt alike, in another table.
// The library names no table for a key within braces.
func nearestKey(key string) string {
	var keys []string
	eachSetting(reflect.TypeFor[Config](), "", envPrefix, func(key, _ string) { keys = append(keys, key) })
	if near := nearest.Word(key, keys); near != "" {
		return near
	}
	lasts := make([]string, len(keys))
	for i, k := range keys {
		lasts[i] = lastName(k)
	}
	last := lastName(key)
	if i := slices.Index(lasts, last); i >= 0 {
		return keys[i]
	}
	if i := slices.Index(lasts, nearest.Word(last, lasts)); i >= 0 {
		return keys[i]
	}
	return ""
}

// lastName returns a key without its tables.
func lastName(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// UnknownVariable is a variable that looks like a setting and is none.
type UnknownVariable struct {
	Name    string `json:"name"`
	Nearest string `json:"nearest,omitempty"` // the one that may be meant; "": none comes near
}

// UnknownVariables returns the variables of an environment that begin as those of the
// program and mean nothing, in alphabetical order. A cluster sets such ones by itself.
func (c *Config) UnknownVariables(environ []string) (unknown []UnknownVariable) {
	known := []string{envPrefix + "CONFIG"}
	eachSetting(reflect.TypeFor[Config](), "", envPrefix, func(_, variable string) {
		if variable != "" {
			known = append(known, variable)
		}
	})
	for _, a := range c.Accounts {
		for _, secret := range []string{"API_KEY", "WEBHOOK_SECRETS", "OAUTH_CLIENT_SECRET"} {
			known = append(known, accountVariable(a.Name, secret))
		}
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			unknown = append(unknown, UnknownVariable{name, nearest.Word(name, known)})
		}
	}
	slices.SortFunc(unknown, func(a, b UnknownVariable) int { return strings.Compare(a.Name, b.Name) })
	return unknown
}

// accountVariable returns the name of a variable with a secret of an account.
func accountVariable(account, secret string) string {
	return envPrefix + "ACCOUNT_" + envName(account) + "_" + secret
}
