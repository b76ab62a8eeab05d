package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
)

// Opt is a field that may be absent, null or present with a value. The zero Opt
// is absent. As a struct field it is tagged omitzero, so that absent stays
// absent when it is written.
type Opt[T any] struct {
	value T
	state optState
}

type optState uint8

const (
	optAbsent optState = iota
	optNull
	optValue
)

// Some returns a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{value: v, state: optValue} }

// NullOf returns an explicit null.
func NullOf[T any]() Opt[T] { return Opt[T]{state: optNull} }

// Get returns the value and whether there is one; null and absent have none.
func (o Opt[T]) Get() (T, bool) { return o.value, o.state == optValue }

// Or returns the value, or def where there is none.
func (o Opt[T]) Or(def T) T {
	if o.state == optValue {
		return o.value
	}
	return def
}

// Absent reports whether the key was missing.
func (o Opt[T]) Absent() bool { return o.state == optAbsent }

// Null reports whether the key had an explicit null.
func (o Opt[T]) Null() bool { return o.state == optNull }

// IsZero makes omitzero leave out an absent field and nothing else.
func (o Opt[T]) IsZero() bool { return o.state == optAbsent }

// Equal compares presence and value.
func (o Opt[T]) Equal(p Opt[T]) bool {
	return o.state == p.state && reflect.DeepEqual(o.value, p.value)
}

// MarshalJSON writes the value, or null where there is none.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.state != optValue {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value or null. A value of another type leaves the field
// absent instead of failing the resource around it.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	*o = Opt[T]{}
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		o.state = optNull
		return nil
	}
	var v T
	if err := decodeLenient(b, &v); err != nil {
		return nil
	}
	*o = Some(v)
	return nil
}

// errMistyped is returned by decodeLenient when the outermost value has another type
// than the requested one.
var errMistyped = errors.New("value has another JSON type")

// decodeLenient decodes b into v. Mistyped values inside stay zero. It fails on input
// that is not JSON and on an outermost value of another type.
func decodeLenient(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var mistyped *json.UnmarshalTypeError
	if !errors.As(err, &mistyped) {
		return err
	}
	if outermostFits(b, reflect.TypeOf(v).Elem()) {
		return nil
	}
	return errMistyped
}

// outermostFits reports whether the outermost JSON kind of b can be read into t.
func outermostFits(b []byte, t reflect.Type) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 {
		return false
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return b[0] == '{'
	case reflect.Slice, reflect.Array:
		return b[0] == '['
	default:
		return false
	}
}
