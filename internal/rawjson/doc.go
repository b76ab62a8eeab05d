// Package rawjson reads and writes JSON without decoding its values: the archive keeps
// them as the service wrote them, unknown keys, numbers and spacing included.
//
//	walk.go    the members of an object and the elements of an array
//	hash.go    the identity of JSON, whatever its spacing, key order and escapes
//	object.go  an object written from raw members
//
// It accepts all that encoding/json does: repeated keys, invalid UTF-8 and half
// surrogates too.
package rawjson
