package api

import (
	"bytes"
	_ "embed"
)

//go:embed openapi.yaml
var contract []byte

// OpenAPI returns the contract of the interface, an OpenAPI 3.1 document in YAML. The
// client is more lenient than the contract.
func OpenAPI() []byte { return bytes.Clone(contract) }
