package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Setting is a setting in force, as a person is shown it.
type Setting struct {
	Key    string `json:"key"`   // such as web.listen, accounts[0].name
	Value  string `json:"value"` // as the file would have it; "(secret)" for a secret
	Source string `json:"source"`
}

// Masked stands for the value of a secret.
const Masked = `"(secret)"`

// HasSecret reports whether the settings have a secret that stands in the file itself.
func HasSecret(settings []Setting, file string) bool {
	return slices.ContainsFunc(settings, func(s Setting) bool {
		return s.Value == Masked && strings.HasPrefix(s.Source, filepath.Base(file)+":")
	})
}

// Describe loads a configuration as [Load] does and returns its settings in the order
// of the file, with the place from which each comes: "default", "config.toml:12", the
// name of a variable, "--data", the file of a secret that has a file of its own, or
// [AddedName] for an account that was added on the page.
// The name of an account that only the environment has comes from the variable of its address.
func Describe(path, dataDir string, environ []string) ([]Setting, error) {
	c, err := Load(path, dataDir, environ)
	if err != nil {
		return nil, err
	}
	raw, err := readFile(path)
	if err != nil {
		return nil, err
	}
	added, err := readAdded(c.DataDir)
	if err != nil {
		return nil, err
	}
	d := describer{path: path, lines: keyLines(raw), variables: env.ToMap(environ), dataDir: dataDir, added: added.Accounts}
	d.addTable(reflect.ValueOf(c).Elem(), "", envPrefix)
	return d.settings, nil
}

// describer collects settings.
type describer struct {
	path      string
	dataDir   string
	lines     map[string]int // by key
	variables map[string]string
	added     []addedAccount
	origin    string // of the account that is being described, where it is not in the file
	settings  []Setting
}

// addTable adds the settings of a table. prefix begins the names of its variables; "":
// they have none.
func (d *describer) addTable(v reflect.Value, key, prefix string) {
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		if !f.IsExported() {
			continue
		}
		name, below := key+settingName(f), ""
		if p, ok := f.Tag.Lookup("envPrefix"); ok && prefix != "" {
			below = prefix + p
		}
		if value.Kind() == reflect.Pointer && isTable(f.Type.Elem()) {
			if value.IsNil() {
				continue
			}
			value = value.Elem()
		}
		switch {
		case isTable(value.Type()):
			d.addTable(value, name+".", below)
		case value.Kind() == reflect.Slice && isTable(value.Type().Elem()):
			for n := range value.Len() {
				key, prefix := fmt.Sprintf("%s[%d].", name, n), ""
				if a, ok := value.Index(n).Interface().(Account); ok {
					prefix, d.origin = accountVariable(a.Name, ""), d.findOrigin(key, a.Name)
				}
				d.addTable(value.Index(n), key, prefix)
			}
			d.origin = ""
		default:
			d.add(f, name, prefix, value)
		}
	}
}

// findOrigin returns the place from which an account comes, "" for the configuration's file.
func (d *describer) findOrigin(key, account string) string {
	switch {
	case d.lines[key+"name"] > 0:
		return ""
	case slices.ContainsFunc(d.added, func(a addedAccount) bool { return a.Name == account }):
		return AddedName
	}
	return accountVariable(account, "BASE_URL")
}

// add adds one setting. A secret that comes from a file of its own is not repeated.
func (d *describer) add(f reflect.StructField, name, prefix string, value reflect.Value) {
	s := Setting{Key: name, Value: formatValue(value.Interface()), Source: "default"}
	secret := f.Tag.Get("secret") == "true"
	if line := d.lines[name]; line > 0 {
		s.Source = fmt.Sprintf("%s:%d", filepath.Base(d.path), line)
	}
	variable := prefix + f.Tag.Get("env")
	switch {
	case name == "data_dir" && d.dataDir != "":
		s.Source = "--data"
	case d.variables[variable] != "":
		s.Source = variable
	case secret && d.variables[variable+"_FILE"] != "":
		s.Source = "its file"
	case d.origin != "" && !value.IsZero():
		s.Source = d.origin
	case secret && s.Source == "default" && !value.IsZero():
		s.Source = "its file"
	case f.Tag.Get("toml") == "-" && value.IsZero():
		return
	}
	if secret && !value.IsZero() {
		s.Value = Masked
	}
	d.settings = append(d.settings, s)
}

// formatValue writes a value as the file would have it. A password in an address is
// left out.
func formatValue(v any) string {
	switch v := v.(type) {
	case Duration:
		text := time.Duration(v).String()
		for _, none := range []string{"m0s", "h0m"} { // 720h0m0s is 720h
			if strings.HasSuffix(text, none) {
				text = text[:len(text)-2]
			}
		}
		return quote(text)
	case string:
		if u, err := url.Parse(v); err == nil && u.User != nil {
			v = u.Redacted()
		}
		return quote(v)
	case []string:
		quoted := make([]string, len(v))
		for i := range v {
			quoted[i] = quote(v[i])
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// quote writes a text in the file's quotes.
func quote(s string) string {
	raw, err := toml.Marshal(map[string]string{"v": s})
	if err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(raw), "v = "))
}

// keyLines returns the line of every key of a file that has been read without an error.
// Keys in repeated tables have their table's number.
func keyLines(raw []byte) map[string]int {
	lines, count := map[string]int{}, map[string]int{}
	var p unstable.Parser
	p.Reset(raw)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		key, line := joinKey(&p, e)
		switch e.Kind {
		case unstable.ArrayTable:
			table = fmt.Sprintf("%s[%d].", key, count[key])
			count[key]++
		case unstable.Table:
			table = key + "."
			if first, rest, ok := strings.Cut(key, "."); ok && count[first] > 0 {
				table = fmt.Sprintf("%s[%d].%s.", first, count[first]-1, rest)
			}
		case unstable.KeyValue:
			addLines(&p, lines, table+key, line, e.Value())
		}
	}
	return lines
}

// addLines adds the line of a setting, or those of the settings in its braces.
func addLines(p *unstable.Parser, lines map[string]int, key string, line int, value *unstable.Node) {
	switch value.Kind {
	case unstable.InlineTable:
		for it := value.Children(); it.Next(); {
			names, at := joinKey(p, it.Node())
			addLines(p, lines, key+"."+names, at, it.Node().Value())
		}
	case unstable.Array:
		lines[key] = line
		n := 0
		for it := value.Children(); it.Next(); {
			if it.Node().Kind == unstable.InlineTable {
				addLines(p, lines, fmt.Sprintf("%s[%d]", key, n), line, it.Node())
				n++
			}
		}
	default:
		lines[key] = line
	}
}

// joinKey returns the key of a table or a setting, and its line.
func joinKey(p *unstable.Parser, e *unstable.Node) (key string, line int) {
	var names []string
	for it := e.Key(); it.Next(); {
		names = append(names, string(it.Node().Data))
		line = p.Shape(it.Node().Raw).Start.Line
	}
	return strings.Join(names, "."), line
}
