package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive/importer"
)

// shapeWriter writes types as the JSON that is made of them, with the comments that their
// fields have in the source.
type shapeWriter struct {
	t        *testing.T
	comments map[reflect.Type]map[string]string // by the name of the field
	commands map[reflect.Type]string            // which print a type, or a list of it
	above    map[reflect.Type]string            // the key of a type that the same value has already
}

// shapeField is a field of an object.
type shapeField struct{ key, value, comment string }

// The widest line of an object without comments, and the widest one with a comment.
const (
	widestObject  = 90
	widestComment = 110
)

// writeShape returns the shape of a command's output.
func (w *shapeWriter) writeShape(p printedShape) string {
	w.above = map[reflect.Type]string{}
	if rt := p.shape; rt.Kind() == reflect.Slice && w.commands[rt.Elem()] != "" {
		return w.write(rt, "", "")
	} else if rt.Kind() == reflect.Slice {
		return "[" + w.writeObject(w.fields(rt.Elem(), ""), "") + "]"
	}
	return w.writeObject(w.fields(p.shape, ""), "")
}

// write returns a type that has a key, whose lines after the first are indented.
func (w *shapeWriter) write(rt reflect.Type, key, indent string) string {
	if word := w.describe(rt); word != "" {
		return word
	}
	switch rt.Kind() {
	case reflect.Pointer:
		return w.write(rt.Elem(), key, indent)
	case reflect.Slice, reflect.Array:
		return "[" + w.write(rt.Elem(), key, indent) + "]"
	case reflect.Map:
		return "{ text: " + w.write(rt.Elem(), key, indent) + " }"
	case reflect.Struct:
		if printers := w.commands[rt]; printers != "" {
			return "{ as " + printers + " prints }"
		}
		object := w.writeObject(w.fields(rt, indent), indent)
		if !strings.Contains(object, "\n") {
			return object
		}
		if first := w.above[rt]; first != "" {
			return "{ as " + first + " above }"
		}
		w.above[rt] = key
		return object
	}
	w.t.Fatalf("docs/json.md has no words for %v: add them to describe", rt)
	return ""
}

// describe returns the word for a type that has one.
func (w *shapeWriter) describe(rt reflect.Type) string {
	switch rt {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[api.Time]():
		return "time"
	case reflect.TypeFor[time.Duration]():
		return "nanoseconds"
	case reflect.TypeFor[json.RawMessage]():
		return "any"
	}
	if rt.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "text"
	}
	switch rt.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true|false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64, reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	}
	return ""
}

// writeObject writes an object in one line where that is short.
func (w *shapeWriter) writeObject(fields []shapeField, indent string) string {
	short, isShort := []string{}, true
	for _, f := range fields {
		short = append(short, f.key+": "+f.value)
		isShort = isShort && f.comment == "" && !strings.Contains(f.value, "\n")
	}
	if line := "{ " + strings.Join(short, ", ") + " }"; isShort && len(line) <= widestObject {
		return line
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, f := range fields {
		line := indent + "  " + f.key + ": " + f.value
		last := line[strings.LastIndexByte(line, '\n')+1:]
		switch {
		case f.comment == "":
		case !strings.Contains(f.value, "\n") && len(last)+len(f.comment)+5 <= widestComment:
			line += "  // " + f.comment
		default:
			line = foldComment(f.comment, indent+"  // ") + line
		}
		b.WriteString(line + "\n")
	}
	return b.String() + indent + "}"
}

// foldComment returns the lines of a comment.
func foldComment(text, begin string) string {
	var b strings.Builder
	line := begin[:len(begin)-1]
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > widestComment {
			b.WriteString(line + "\n")
			line = begin[:len(begin)-1]
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// fields returns the fields of an object; those of embedded types are its own.
func (w *shapeWriter) fields(rt reflect.Type, indent string) (fields []shapeField) {
	indent += "  "
	comments := w.readComments(rt)
	for f := range structFields(rt) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-", !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			fields = append(fields, w.fields(embedded, indent[2:])...)
			continue
		case name == "":
			w.t.Errorf("the field %s of %v has no name in JSON", f.Name, rt)
		}
		key := fmt.Sprintf("%q", name)
		if strings.Contains(options, "omit") {
			key += "?"
		}
		value, isOptional := f.Type, false
		if strings.HasPrefix(value.Name(), "Opt[") && value.PkgPath() == reflect.TypeFor[api.Time]().PkgPath() {
			value, isOptional = value.Field(0).Type, true
		}
		text := w.write(value, key, indent)
		if isOptional || value.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
			text += " or null"
		}
		fields = append(fields, shapeField{key, text, comments[f.Name]})
	}
	return fields
}

// structFields returns the fields that a type is written with.
func structFields(rt reflect.Type) func(func(reflect.StructField) bool) {
	if rt == reflect.TypeFor[importer.Wrong]() { // as its MarshalJSON writes it
		rt = reflect.TypeFor[struct {
			File   string `json:"file,omitempty"`
			Line   int    `json:"line,omitzero"`
			Reason string `json:"reason"`
			More   int    `json:"more,omitzero"`
		}]()
	}
	return func(yield func(reflect.StructField) bool) {
		for i := range rt.NumField() {
			if !yield(rt.Field(i)) {
				return
			}
		}
	}
}

// readComments reads the comments of a type's fields from its source.
func (w *shapeWriter) readComments(rt reflect.Type) map[string]string {
	if known, ok := w.comments[rt]; ok || rt.Name() == "" {
		return known
	}
	found := map[string]string{}
	folder := "../../" + strings.TrimPrefix(rt.PkgPath(), "minutebook/")
	if strings.HasPrefix(rt.PkgPath(), "minutebook/cmd/") || rt.PkgPath() == "main" {
		folder = "."
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			w.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != rt.Name() {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						found[name.Name] = plainComment(rt, name.Name, field)
					}
				}
			}
			return false
		})
	}
	w.comments[rt] = found
	return found
}

var docLink = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// plainComment returns the comment of a field in the names of JSON.
func plainComment(rt reflect.Type, name string, field *ast.Field) string {
	text := field.Comment.Text()
	if text == "" {
		text = field.Doc.Text()
	}
	text = strings.TrimSuffix(strings.Join(strings.Fields(docLink.ReplaceAllString(text, "$1")), " "), ".")
	for _, verb := range []string{" is ", " are ", " "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok && !strings.HasPrefix(rest, "and ") {
			text = rest
			break
		}
	}
	for i := range rt.NumField() { // names of other fields
		other := rt.Field(i)
		if key, _, _ := strings.Cut(other.Tag.Get("json"), ","); key != "" && key != "-" {
			text = regexp.MustCompile(`\b`+other.Name+`\b`).ReplaceAllString(text, key)
		}
	}
	return strings.ReplaceAll(text, "nil", "absent")
}
