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
		if !f.IsExported() {
			continue
		}
		name, bound := key+settingName(f), ""
		if env := f.Tag.Get("env"); env != "" && env != "-" && variable != "" {
			bound = variable + env
		}
		inner, below := f.Type, ""
		if prefix, ok := f.Tag.Lookup("envPrefix"); ok && variable != "" {
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
	Name string `json:"name"`
	// Nearest is the one that may be meant; "": none comes near. For a setting of an account
	// that is not there, it is the one that would add the account; where that is empty, itself.
	Nearest      string `json:"nearest,omitempty"`
	LacksAccount bool   `json:"lacks_account,omitempty"`
}

// IsEmpty reports whether a variable would add an account if it were not empty.
func (v UnknownVariable) IsEmpty() bool { return v.LacksAccount && v.Nearest == v.Name }

// UnknownVariables returns the variables of an environment that begin as those of the
// program and mean nothing, in alphabetical order. A cluster sets such ones by itself.
func (c *Config) UnknownVariables(environ []string) (unknown []UnknownVariable) {
	known := []string{envPrefix + "CONFIG"}
	add := func(_, variable string) {
		if variable != "" {
			known = append(known, variable)
		}
	}
	eachSetting(reflect.TypeFor[Config](), "", envPrefix, add)
	for _, a := range c.Accounts {
		eachSetting(reflect.TypeFor[Account](), "", accountVariable(a.Name, ""), add)
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		u := UnknownVariable{Name: name, Nearest: nearest.Word(name, known)}
		if account, _ := splitAccountVariable(name); account != "" && !c.hasAccount(account) {
			u.Nearest, u.LacksAccount = accountVariable(account, "BASE_URL"), true
		}
		unknown = append(unknown, u)
	}
	slices.SortFunc(unknown, func(a, b UnknownVariable) int { return strings.Compare(a.Name, b.Name) })
	return unknown
}
