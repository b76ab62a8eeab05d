package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

func loadContract(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheContractIsValid(t *testing.T) {
	doc := loadContract(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("it is OpenAPI %s", doc.OpenAPI)
	}
}

// resources are the types that the contract has a schema of the same name for.
func resources() []any {
	return []any{Meeting{}, Invitee{}, Recorder{}, TranscriptEntry{}, Speaker{}, Summary{}, ActionItem{}, Assignee{},
		Highlight{}, CRMMatches{}, CRMContact{}, CRMCompany{}, CRMDeal{}, MeetingType{}, Team{}, TeamMember{}, User{},
		Permissions{}, Access{}, Download{}, DownloadFile{}, Webhook{}, WebhookRequest{}}
}

// noType are the schemas that are of no resource: answers that the client takes
// apart by hand, and enumerations.
var noType = []string{"Error", "Page", "TranscriptAnswer", "SummaryAnswer", "SendingAnswer", "TokenAnswer", "Trigger"}

func TestTypesAndContractHaveTheSameFields(t *testing.T) {
	schemas := loadContract(t).Components.Schemas
	var named []string
	for _, r := range resources() {
		typ := reflect.TypeOf(r)
		named = append(named, typ.Name())
		schema := schemas[typ.Name()]
		if schema == nil {
			t.Errorf("the contract has no %s", typ.Name())
			continue
		}
		inGo := map[string]string{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "-" {
				inGo[name] = goKind(f.Type)
			}
		}
		inContract := map[string]string{}
		for name, p := range schema.Value.Properties {
			inContract[name] = contractKind(p, slices.Contains(schema.Value.Required, name))
		}
		if d := cmp.Diff(inContract, inGo); d != "" {
			t.Errorf("%s (-contract +types):\n%s", typ.Name(), d)
		}
	}
	for name := range schemas {
		if !slices.Contains(named, name) && !slices.Contains(noType, name) {
			t.Errorf("the schema %s has no type", name)
		}
	}
}

// goKind describes how a field is written, as contractKind does.
func goKind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Time]():
		return "date-time"
	case strings.HasPrefix(t.Name(), "Opt["):
		return "opt " + goKind(t.Field(0).Type)
	case t.Kind() == reflect.Slice:
		return "array of " + goKind(t.Elem())
	case t.Kind() == reflect.Struct:
		return t.Name()
	}
	return map[reflect.Kind]string{reflect.String: "string", reflect.Int64: "integer", reflect.Float64: "number", reflect.Bool: "boolean"}[t.Kind()]
}

// contractKind describes a property. One that may be null or left out has to be
// Opt in Go, unless its zero value says as much: a missing time, or a flag.
func contractKind(r *openapi3.SchemaRef, required bool) string {
	s := r.Value
	nullable := s.Type != nil && s.Type.Includes("null")
	kind := ""
	switch {
	case len(s.OneOf) == 2:
		nullable, kind = true, refName(s.OneOf[0])
	case s.Type.Includes("object"):
		kind = refName(r)
	case s.Type.Includes("array"):
		kind = "array of " + itemKind(s.Items)
	case s.Format == "date-time":
		return "date-time"
	default:
		kind = slices.DeleteFunc(slices.Clone(s.Type.Slice()), func(t string) bool { return t == "null" })[0]
	}
	if (nullable || !required) && kind != "boolean" {
		return "opt " + kind
	}
	return kind
}

func refName(r *openapi3.SchemaRef) string { return r.Ref[strings.LastIndex(r.Ref, "/")+1:] }

func itemKind(r *openapi3.SchemaRef) string {
	if name := refName(r); name != "" && r.Value.Type.Includes("object") {
		return name
	}
	return r.Value.Type.Slice()[0]
}
