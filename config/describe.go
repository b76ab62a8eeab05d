package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"

	"minutebook/internal/plaintoml"
)

// describeMistakes names the place of each mistake, and the nearest known key for an
// unknown one.
func describeMistakes(mistakes plaintoml.Mistakes) error {
	var places []string
	for _, m := range mistakes {
		if !m.Unknown {
			places = append(places, fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m))
			continue
		}
		place := fmt.Sprintf("unknown key %q at line %d, column %d", m.Key, m.Line, m.Column)
		if near := nearestKey(m.Key); near != "" {
			place += fmt.Sprintf(" (did you mean %s?)", near)
		}
		places = append(places, place)
	}
	return errors.New(strings.Join(places, "; "))
}

// describeEnvError names the variables with wrong values for settings of t, and the kinds of
// values that belong there.
func describeEnvError(err error, t reflect.Type, prefix string, vars map[string]string) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	var places []string
	for _, e := range all.Errors {
		var bad env.ParseError
		if !errors.As(e, &bad) {
			return err
		}
		name := variableName(t, bad.Name, prefix, vars)
		places = append(places, fmt.Sprintf("%s: takes %s", name, plaintoml.DescribeType(bad.Type.String())))
	}
	return errors.New(strings.Join(places, "; "))
}

// variableName returns the name of the set variable that belongs to a field of t.
func variableName(t reflect.Type, field, prefix string, vars map[string]string) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name := prefix + f.Tag.Get("env")
		if f.Name == field && vars[name] != "" {
			return name
		}
		if inner, ok := f.Tag.Lookup("envPrefix"); ok {
			if name := variableName(f.Type, field, prefix+inner, vars); name != "" {
				return name
			}
		}
	}
	return ""
}
