package api

import (
	"bytes"
	_ "embed"
)

//go:embed openapi.yaml
var contract []byte

// OpenAPI returns the contract of the interface, an OpenAPI 3.1 document in YAML:
// what a service of this kind sends and takes. The client is more lenient.
func OpenAPI() []byte { return bytes.Clone(contract) }
