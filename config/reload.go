package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Reload returns the configuration that a running process takes over from next: the
// settings with the tag reload:"live" as in next, the others as in c. changed names
// the settings that differ and take effect, restart those that wait for a restart.
// It fails when the two do not fit together, as when next lets everybody in on the
// address on which the process listens still.
func (c *Config) Reload(next *Config) (merged *Config, changed, restart []string, err error) {
	m := *next
	changed, restart = []string{}, []string{}
	merge(reflect.ValueOf(c).Elem(), reflect.ValueOf(&m).Elem(), "", false, func(name string, live bool) {
		if live {
			changed = append(changed, name)
		} else {
			restart = append(restart, name)
		}
	})
	if len(restart) > 0 {
		if err := m.Check(); err != nil {
			return nil, nil, nil, fmt.Errorf("restart to change %s: beside the present values, %w", strings.Join(restart, ", "), err)
		}
	}
	slices.Sort(changed)
	slices.Sort(restart)
	return &m, changed, restart, nil
}

// merge copies the settings of from that need a restart to to, and reports each
// setting in which the two differ.
func merge(from, to reflect.Value, prefix string, live bool, report func(name string, live bool)) {
	t := to.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, live := prefix+settingName(f), live || f.Tag.Get("reload") == "live"
		switch {
		case isTable(f.Type):
			merge(from.Field(i), to.Field(i), name+".", live, report)
		case !reflect.DeepEqual(from.Field(i).Interface(), to.Field(i).Interface()):
			report(name, live)
			if !live {
				to.Field(i).Set(from.Field(i))
			}
		}
	}
}

// settingName returns the key of a field, for a secret that only the environment or a
// file sets the name that its key would have.
func settingName(f reflect.StructField) string {
	if name := f.Tag.Get("toml"); name != "-" {
		return name
	}
	return strings.ToLower(f.Tag.Get("env"))
}

// isTable reports whether a field of the type is a table with keys of its own.
func isTable(t reflect.Type) bool { return t.Kind() == reflect.Struct }
