package corpus

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"minutebook/api"
	"minutebook/archive"
	real "minutebook/internal/corpus"
)

// Resampler makes any number of meetings out of the corpus's: runs of 5 to 20
// consecutive entries that begin at random entries of the corpus, some 370
// entries a meeting (44 kB of text), a few invented rare terms in each, 2,000
// speakers, dates over six years. The same seed and number make the same
// meeting.
type Resampler struct {
	// Mean has meetings be as long as the corpus's are on the mean: 300 entries
	// instead of 370.
	Mean bool

	seed      uint64
	texts     []string // of the corpus's entries, meeting after meeting
	ends      []int    // for each entry, where its meeting ends among texts
	summaries []string
}

// Figures of a Resampler's meetings.
const (
	entriesEach = 370
	entriesMean = 294 // and the rest of the last run
	speakers    = 2000
	rareEach    = 4
	lastDay     = 6 * 365
)

// firstDay is when the oldest meetings were recorded.
var firstDay = time.Date(2020, 7, 1, 0, 0, 0, 0, time.UTC)

// NewResampler reads the corpus.
func NewResampler(dir string, seed uint64) (*Resampler, error) {
	r := &Resampler{seed: seed}
	for _, name := range real.Files() {
		err := real.EachLine(filepath.Join(dir, name), func(line []byte) error {
			var m api.Meeting
			if err := json.Unmarshal(line, &m); err != nil {
				return err
			}
			entries := m.Transcript.Or(nil)
			end := len(r.texts) + len(entries)
			for _, e := range entries {
				r.texts, r.ends = append(r.texts, e.Text), append(r.ends, end)
			}
			sum, _ := m.DefaultSummary.Get()
			r.summaries = append(r.summaries, sum.MarkdownFormatted.Or(""))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Speaker is the name of a speaker by number, below 2,000.
func Speaker(n int) string {
	return fmt.Sprintf("%s %s", firstNames[n%len(firstNames)], surname(n/len(firstNames)))
}

var firstNames = []string{"Anna", "Bela", "Chidi", "Dana", "Emil", "Farah", "Goran", "Hanna", "Ines", "Jonas", "Keiko", "Lars", "Mina", "Nils", "Olga", "Pedro", "Quinn", "Rosa", "Sven", "Tara"}

func surname(n int) string {
	parts := []string{"ber", "cor", "dan", "fel", "gar", "hol", "jan", "kel", "lin", "mor"}
	return "V" + parts[n%10] + parts[n/10%10] + "son"
}

// RareTerm is the term of a number that only a few meetings have.
func RareTerm(n uint64) string { return fmt.Sprintf("KX-%d", n) }

// Meeting makes the meeting of a number, 1 or more.
func (r *Resampler) Meeting(number int) *api.Meeting {
	rnd := rand.New(rand.NewPCG(r.seed, uint64(number)))
	begin := firstDay.AddDate(0, 0, rnd.IntN(lastDay)).Add(time.Duration(8+rnd.IntN(10)) * time.Hour)
	people := make([]int, 3+rnd.IntN(6))
	for i := range people {
		people[i] = rnd.IntN(speakers)
	}
	transcript := r.transcript(rnd, number, people)
	end := begin.Add(time.Duration(len(transcript)*10) * time.Second)
	m := &api.Meeting{
		Title: fmt.Sprintf("%s with %s", kinds[number%len(kinds)], Speaker(people[0])), RecordingID: int64(number),
		URL: fmt.Sprintf("https://meet.example/calls/%d", number+1e9), ShareURL: fmt.Sprintf("https://meet.example/share/%x", number),
		MeetingType: api.Some(kinds[number%len(kinds)]), CreatedAt: api.TimeOf(end.Add(5 * time.Second)),
		ScheduledStartTime: api.TimeOf(begin), ScheduledEndTime: api.TimeOf(begin.Add(time.Hour)),
		RecordingStartTime: api.TimeOf(begin), RecordingEndTime: api.TimeOf(end),
		CalendarInviteesDomainsType: api.DomainsExternal, SharedWith: []string{api.SharedNoTeams, api.SharedAllTeams}[number%2],
		TranscriptLanguage: "en", Transcript: api.Some(transcript),
		DefaultSummary: api.Some(api.Summary{MarkdownFormatted: api.Some(r.summaries[rnd.IntN(len(r.summaries))])}),
	}
	for _, p := range people {
		m.CalendarInvitees = append(m.CalendarInvitees, api.Invitee{Name: api.Some(Speaker(p)), Email: api.Some(address(p)),
			EmailDomain: api.Some(domain(p)), IsExternal: domain(p) != "company0.example"})
	}
	m.RecordedBy = api.Recorder{Name: Speaker(people[0]), Email: address(people[0]), EmailDomain: domain(people[0]), Team: api.Some(fmt.Sprintf("Team %d", people[0]%30))}
	return m
}

var kinds = []string{"Sales call", "Standup", "Interview", "Review", "Planning", "Support"}

func address(p int) string { return fmt.Sprintf("person%d@%s", p, domain(p)) }

func domain(p int) string { return fmt.Sprintf("company%d.example", p%40) }

func (r *Resampler) transcript(rnd *rand.Rand, number int, people []int) []api.TranscriptEntry {
	var out []api.TranscriptEntry
	want := entriesEach
	if r.Mean {
		want = entriesMean
	}
	for len(out) < want {
		from := rnd.IntN(len(r.texts))
		for _, text := range r.texts[from:min(r.ends[from], from+5+rnd.IntN(16))] {
			p := people[rnd.IntN(len(people))]
			out = append(out, api.TranscriptEntry{
				Speaker:   api.Speaker{DisplayName: Speaker(p), MatchedCalendarInviteeEmail: api.Some(address(p))},
				Text:      text,
				Timestamp: api.FormatOffset(time.Duration(len(out)*10) * time.Second),
			})
		}
	}
	for i := range rareEach {
		at := rnd.IntN(len(out))
		out[at].Text += " " + RareTerm(rnd.Uint64N(uint64(number)+uint64(i)+100))
	}
	return out
}

// Observation makes the observation of the meeting of a number, and says how
// many bytes of text its transcript has.
func (r *Resampler) Observation(number int) (o archive.Observation, text int, err error) {
	m := r.Meeting(number)
	for _, e := range m.Transcript.Or(nil) {
		text += len(e.Text)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return o, 0, err
	}
	o, err = archive.FromMeeting("corpus", archive.SourceList, readAt, raw)
	return o, text, err
}
