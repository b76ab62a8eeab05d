package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// node is a key of a JSON object as the status page shows it: a value, a group
// of keys, or a table of objects alike.
type node struct {
	Label string
	Value string // of a leaf
	Group []node
	Table *table
}

type table struct {
	Head []string
	Rows [][]string
}

// readTree reads a JSON object for people, its keys in their order. Nothing in
// it is lost: what has no form of its own is shown as its JSON.
func readTree(raw []byte, zone *time.Location) ([]node, error) {
	keys, values, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("read the status: %w", err)
	}
	var nodes []node
	for i, key := range keys {
		n := node{Label: label(key)}
		switch value := bytes.TrimSpace(values[i]); {
		case len(value) > 2 && value[0] == '{':
			if n.Group, err = readTree(value, zone); err != nil {
				return nil, err
			}
		case len(value) > 2 && value[0] == '[' && bytes.HasPrefix(bytes.TrimSpace(value[1:]), []byte("{")):
			if n.Table, err = readTable(value, zone); err != nil {
				return nil, err
			}
		default:
			if n.Value = leaf(value, zone); n.Value == "" {
				continue
			}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// members are an object's keys in the order they stand in, and their values.
func members(raw []byte) (keys []string, values []json.RawMessage, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, err
		}
		keys, values = append(keys, fmt.Sprint(key)), append(values, value)
	}
	return keys, values, nil
}

// readTable lines up objects under all the keys that any of them has.
func readTable(raw []byte, zone *time.Location) (*table, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	t, column := &table{}, map[string]int{}
	for _, item := range items {
		keys, values, err := members(item)
		if err != nil {
			return nil, err
		}
		row := make([]string, len(t.Head), len(t.Head)+len(keys))
		for i, key := range keys {
			c, known := column[key]
			if !known {
				c, column[key] = len(t.Head), len(t.Head)
				t.Head, row = append(t.Head, label(key)), append(row, "")
			}
			row[c] = cell(values[i], zone)
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], make([]string, len(t.Head)-len(t.Rows[i]))...)
	}
	return t, nil
}

// cell writes a value in a table; what is nested becomes one line.
func cell(raw json.RawMessage, zone *time.Location) string {
	if len(raw) == 0 || raw[0] != '{' {
		return leaf(raw, zone)
	}
	keys, values, err := members(raw)
	if err != nil {
		return string(raw)
	}
	var parts []string
	for i, key := range keys {
		if v := cell(values[i], zone); v != "" {
			parts = append(parts, label(key)+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

// leaf writes a plain value: times in the reader's zone, yes and no, numbers in
// groups; null, empty and zero times say nothing.
func leaf(raw []byte, zone *time.Location) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return number(n)
		}
		return v.String()
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			if t.IsZero() || t.Unix() <= 0 {
				return ""
			}
			return t.In(zone).Format("2 Jan 2006, 15:04:05")
		}
		return v
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, fmt.Sprint(e))
		}
		return strings.Join(parts, ", ")
	}
	return strings.Trim(string(raw), "{}")
}

func label(key string) string {
	key = strings.ReplaceAll(key, "_", " ")
	if key == "" {
		return key
	}
	return strings.ToUpper(key[:1]) + key[1:]
}
