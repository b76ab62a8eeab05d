package rawjson

import "encoding/json"

// Object is an object that is being written, without space between its members.
// The zero Object is empty.
type Object struct{ written []byte }

// NewObject returns an empty object with room for size bytes.
func NewObject(size int) Object { return Object{make([]byte, 0, size)} }

// Add appends a member, its key as it is written, with its quotes.
func (o *Object) Add(rawKey, value []byte) {
	mark := byte(',')
	if len(o.written) == 0 {
		mark = '{'
	}
	o.written = append(append(append(append(o.written, mark), rawKey...), ':'), value...)
}

// Set appends a member with a key that is written as encoding/json does.
func (o *Object) Set(key string, value []byte) {
	rawKey, _ := json.Marshal(key) // a string always marshals
	o.Add(rawKey, value)
}

// Bytes returns the object. Nothing can be added afterwards.
func (o *Object) Bytes() []byte {
	if len(o.written) == 0 {
		return []byte("{}")
	}
	return append(o.written, '}')
}
