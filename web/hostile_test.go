package web

import (
	"encoding/json"
	"fmt"
	"strings"
)

// hostileMeeting is a meeting that is hard on the layout: every text is one word
// of 200 letters, a letter with 500 marks, Arabic, Hebrew or markup.
func hostileMeeting(id int64) json.RawMessage {
	long := strings.Repeat("Donaudampfschiff", 13)
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	arabic, hebrew := "اجتماع الميزانية في 4 سبتمبر.", "פגישת תקציב, 12:30."
	stacked := "a" + strings.Repeat("\u0489", 500) // one letter for a browser, which cannot be broken
	evil := `<img src=x onerror=alert(1)>"'--><script>alert(1)</script>`
	var invitees, lines []string
	for i := range 60 {
		invitees = append(invitees, fmt.Sprintf(`{"name":%s,"email":"p%d@%s.example","is_external":true}`, quote([]string{long, arabic, hebrew, evil}[i%4]+fmt.Sprint(i)), i, strings.ToLower(long[:40])))
	}
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"speaker":{"display_name":%s},"text":%s,"timestamp":"0%d:00:%02d"}`,
			quote([]string{hebrew, long, "A --", evil}[i/3%4]), quote([]string{arabic, long, hebrew, evil, "https://a.example/" + long}[i%5]), i/10, i))
	}
	return meeting(id, []string{long + " walrus", arabic + " walrus"}[id%2], "2026-06-30T08:00:00Z", fmt.Sprintf(`"recording_end_time":"2026-06-30T20:30:00Z",
		"meeting_type":%s,"url":"javascript:alert(1)","share_url":"//evil.example/x","transcript_language":"ar",
		"calendar_invitees":[%s],"transcript":[%s],
		"default_summary":{"template_name":%s,"markdown_formatted":%s},
		"action_items":[{"description":%s,"completed":true,"recording_timestamp":"00:00:05","assignee":{"name":%s}},{"description":%s,"assignee":{"name":%s}}],
		"highlights":[{"type":%s,"summary":%s,"text":%s,"start_time":5,"end_time":9}],
		"crm_matches":{"companies":[{"name":%s,"record_url":"javascript:alert(1)"}],"deals":[{"name":%s,"amount":1e300}],"error":%s}`,
		quote(long), strings.Join(invitees, ","), strings.Join(lines, ","), quote(long),
		quote("# "+arabic+"\n\n"+hebrew+"\n\n- "+long+"\n- "+arabic+"\n\n| "+long+" | b |\n|---|---|\n| walrus | "+arabic+" |\n\n`"+long+"`\n\n"+strings.Repeat("> ", 40)+stacked+"\n\n"+evil),
		quote(long), quote(long), quote(arabic), quote(hebrew), quote(long), quote(arabic), quote(long), quote(evil), quote(long), quote(evil+stacked)))
}
