package main

import (
	"reflect"
	"strings"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/export"
	"minutebook/archive/importer"
	"minutebook/config"
	"minutebook/control"
	"minutebook/service"
	syncer "minutebook/sync"
	"minutebook/web/access"
)

// printedShape is the type of the JSON that commands print.
type printedShape struct {
	commands string // after the program's name, separated by ", "
	note     string
	shape    reflect.Type
}

func shapeOf[T any](commands, note string) printedShape {
	return printedShape{commands, note, reflect.TypeFor[T]()}
}

// names returns the names of the commands.
func (p printedShape) names() []string { return strings.Split(p.commands, ", ") }

// printedShapes are in the order of docs/json.md.
var printedShapes = []printedShape{
	shapeOf[control.SearchResult]("search", ""),
	shapeOf[api.Meeting]("show", "A Meeting as the service itself gives it, with all parts: see `Meeting` in [openapi.yaml](../api/openapi.yaml)."),
	shapeOf[control.HistoryResult]("history", "`differences` with `--from`, else `revisions`."),
	shapeOf[archive.Stats]("stats", ""),
	shapeOf[control.StatusResult]("status", ""),
	shapeOf[doctorResult]("doctor", ""),
	shapeOf[syncer.Event]("sync", "A value a line, as the run goes on; the last one has `done`."),
	shapeOf[verifyResult]("verify", ""),
	shapeOf[rebuildResult]("rebuild", ""),
	shapeOf[backup.Result]("backup", ""),
	shapeOf[restoreResult]("restore", ""),
	shapeOf[[]listedGeneration]("restore", "With `--list`. A damaged generation has its name and the damage alone."),
	shapeOf[backup.Adopted]("adopt", ""),
	shapeOf[export.Result]("export", ""),
	shapeOf[importer.Result]("import", ""),
	shapeOf[forgetResult]("forget", ""),
	shapeOf[control.RetentionResult]("retention", ""),
	shapeOf[control.AuditLine]("audit", "A value a line, for each row."),
	shapeOf[checkedConfiguration]("config check", ""),
	shapeOf[[]config.Setting]("config show", ""),
	shapeOf[control.Reloaded]("reload", ""),
	shapeOf[control.AuthAccount]("auth status", "With an account."),
	shapeOf[control.AuthList]("auth status", "Without an account."),
	shapeOf[versionResult]("version", ""),
	shapeOf[control.Invited]("user add, user invite", ""),
	shapeOf[access.Person]("user remove, user admin, user alias", ""),
	shapeOf[control.EndedSessions]("user end", ""),
	shapeOf[[]control.ListedPerson]("user list", ""),
	shapeOf[control.NewToken]("token create", ""),
	shapeOf[[]control.ListedToken]("token list", ""),
	shapeOf[control.WebhookInfo]("webhook create, webhook rotate", ""),
	shapeOf[[]control.WebhookInfo]("webhook list", ""),
	shapeOf[control.WebhookTested]("webhook test", ""),
	shapeOf[[]control.DeliveryInfo]("webhook deliveries, webhook quarantine", ""),
	shapeOf[control.DeliveryInfo]("webhook replay", ""),
	shapeOf[control.NewKey]("service keys create", ""),
	shapeOf[[]service.Key]("service keys list", ""),
	shapeOf[api.User]("service users create", ""),
	shapeOf[[]api.User]("service users list", ""),
	shapeOf[control.NewApp]("service apps create", ""),
	shapeOf[[]service.App]("service apps list", ""),
	shapeOf[control.AppCode]("service apps authorize", ""),
	shapeOf[[]service.Hook]("service webhooks list", ""),
	shapeOf[[]service.Delivery]("service deliveries list", ""),
	shapeOf[control.Finished]("service finish", ""),
	shapeOf[service.Limits]("service limits", ""),
	shapeOf[control.Done]("token revoke, webhook delete, service keys revoke, service users status, service apps delete, "+
		"service deliveries retry, service webhooks enable, service webhooks delete", ""),
}

// withoutJSON has the output of each command without --json.
var withoutJSON = []struct{ command, prints string }{
	{"serve, demo, service", "their address, as the first line of standard output; their log on standard error can be JSON: [logs](logs.md)"},
	{"setup, init, auth login", "words for the person who gives the command; the exit code is for programs"},
	{"healthcheck", "nothing but its exit code"},
	{"mcp", "messages of the Model Context Protocol, which are JSON: [assistants](how-to/assistants.md)"},
}
