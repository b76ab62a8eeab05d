package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/pelletier/go-toml/v2"
)

// describeDecodeError names the place of a wrong value and the kind of value that
// belongs there.
func describeDecodeError(bad *toml.DecodeError) error {
	row, col := bad.Position()
	key, text := strings.Join(bad.Key(), "."), strings.TrimPrefix(bad.Error(), "toml: ")
	types := regexp.MustCompile(`^cannot decode TOML (.+) into (?:struct field \S+ of type )?(\S+)$`)
	switch found := types.FindStringSubmatch(text); {
	case found != nil:
		text = fmt.Sprintf("takes %s, not %s", describeType(found[2]), withArticle(found[1]))
	case strings.HasPrefix(text, "cannot store an array table"):
		text = "stands once: write its name in single brackets"
	case strings.HasPrefix(text, "cannot store a table"):
		text = "is no table"
	}
	if key == "" {
		return fmt.Errorf("line %d, column %d: %s", row, col, text)
	}
	return fmt.Errorf("line %d, column %d: %s: %s", row, col, key, text)
}

// describeEnvError names the variables with wrong values and the kinds of values
// that belong there.
func describeEnvError(err error, vars map[string]string) error {
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
		name := variableName(reflect.TypeFor[Config](), bad.Name, envPrefix, vars)
		places = append(places, fmt.Sprintf("%s: takes %s", name, describeType(bad.Type.String())))
	}
	return errors.New(strings.Join(places, "; "))
}

// variableName returns the name of the set variable that belongs to a field of t.
func variableName(t reflect.Type, field, prefix string, vars map[string]string) string {
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

// describeType names a Go type in the words of the file.
func describeType(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]config."):
		return "tables in double brackets"
	case strings.HasPrefix(goType, "[]"):
		return "a list of texts"
	case goType == "config.Duration":
		return `a duration such as "720h"`
	case strings.Contains(goType, "config."):
		return "a table"
	case goType == "string":
		return "a text in quotes"
	case goType == "bool":
		return "true or false"
	}
	return "a whole number"
}

func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
