package api

// WebhookRequest creates a webhook (specification 4.10). At least one of the first
// four flags must be true, and TriggeredFor must name at least one scope.
type WebhookRequest struct {
	DestinationURL     string   `json:"destination_url"`
	TriggeredFor       []string `json:"triggered_for"`
	IncludeTranscript  bool     `json:"include_transcript"`
	IncludeCRMMatches  bool     `json:"include_crm_matches"`
	IncludeSummary     bool     `json:"include_summary"`
	IncludeActionItems bool     `json:"include_action_items"`
	IncludeHighlights  bool     `json:"include_highlights,omitempty"` // a strict service may refuse the key
}

// The scopes of WebhookRequest.TriggeredFor. The specification names only the
// first; private calls fire for it alone.
const (
	TriggerMyRecordings     = "my_recordings"
	TriggerSharedExternal   = "shared_external_recordings"
	TriggerMySharedWithTeam = "my_shared_with_team_recordings"
	TriggerSharedTeam       = "shared_team_recordings"
)

// Webhook is a registered webhook. Secret is shown only in the answer to its
// creation, and ID is the only way to delete it.
type Webhook struct {
	ID                 string   `json:"id"`
	URL                string   `json:"url"`
	Secret             string   `json:"secret"`
	CreatedAt          Time     `json:"created_at"`
	TriggeredFor       []string `json:"triggered_for"`
	IncludeTranscript  bool     `json:"include_transcript"`
	IncludeCRMMatches  bool     `json:"include_crm_matches"`
	IncludeSummary     bool     `json:"include_summary"`
	IncludeActionItems bool     `json:"include_action_items"`
	IncludeHighlights  bool     `json:"include_highlights"`
}
