package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"minutebook/internal/rawjson"
)

// anyJSON draws a JSON value with odd spacing and escapes.
func anyJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
		case 1:
			return rapid.SampledFrom([]string{"0", "-1", "1.50", "1e3", "9007199254740993"}).Draw(t, "number")
		case 2, 3:
			return anyString(t)
		case 4:
			return joined(t, "[", "]", rapid.SliceOfN(anyJSON(depth-1), 0, 4).Draw(t, "elements"))
		default:
			var members []string
			for i := range rapid.IntRange(0, 4).Draw(t, "members") {
				key, _ := json.Marshal(fmt.Sprintf("k%d%s", i, rapid.StringN(0, 3, -1).Draw(t, "key")))
				members = append(members, string(key)+space(t)+":"+space(t)+anyJSON(depth-1).Draw(t, "value"))
			}
			return joined(t, "{", "}", members)
		}
	})
}

func anyString(t *rapid.T) string {
	b, _ := json.Marshal(rapid.String().Draw(t, "string"))
	return string(b[:len(b)-1]) + rapid.SampledFrom([]string{"", `\u00e9`, `\/`, `\\`, `\"`, "]}"}).Draw(t, "tail") + `"`
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", " ", "\n\t "}).Draw(t, "space")
}

func joined(t *rapid.T, open, end string, items []string) string {
	out := open + space(t)
	for i, item := range items {
		if i > 0 {
			out += "," + space(t)
		}
		out += item + space(t)
	}
	return out + end
}

func TestSplitAndJoinLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[Part]string{}
		members := []string{fmt.Sprintf(`"recording_id"%s:%s%d`, space(t), space(t), rapid.Int64Range(1, 1<<62).Draw(t, "id"))}
		for _, p := range Parts()[1:] {
			if rapid.Bool().Draw(t, string(p)) {
				want[p] = anyJSON(3).Draw(t, "content")
				members = append(members, `"`+string(p)+`":`+want[p])
			}
		}
		members = append(members, `"other":`+anyJSON(3).Draw(t, "other"))
		raw := joined(t, "{", "}", rapid.Permutation(members).Draw(t, "order"))
		id, parts, err := SplitMeeting([]byte(raw))
		if err != nil || id <= 0 || len(parts) != len(want)+1 {
			t.Fatalf("%s: %d, %d parts, %v", raw, id, len(parts), err)
		}
		for p, w := range want {
			if string(parts[p]) != w {
				t.Fatalf("%s is %s, want %s", p, parts[p], w)
			}
		}
		joined, err := JoinMeeting(parts)
		if err != nil || !rawjson.Equal(joined, []byte(raw)) {
			t.Fatalf("joined %s of %s, %v", joined, raw, err)
		}
		again, partsAgain, err := SplitMeeting(joined)
		if err != nil || again != id || !bytes.Equal(partsAgain[PartMeeting], parts[PartMeeting]) {
			t.Fatalf("split again: %d, %s, %v", again, partsAgain[PartMeeting], err)
		}
	})
}

func TestHashIsThatOfTheMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyJSON(3).Draw(t, "a"), anyJSON(3).Draw(t, "b")
		// The standard library's form: compact, keys sorted, numbers as written.
		if same := meaning(t, a) == meaning(t, b); same != (rawjson.Equal([]byte(a), []byte(b))) {
			t.Fatalf("%s and %s: same meaning %v", a, b, same)
		}
		if !rawjson.Equal([]byte(meaning(t, a)), []byte(a)) {
			t.Fatalf("%s hashes unlike its own compact form", a)
		}
	})
}

func meaning(t *rapid.T, raw string) string {
	d := json.NewDecoder(bytes.NewReader([]byte(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("drew %s: %v", raw, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOffsetsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 400*3600).Draw(t, "seconds")) * time.Second
		if got, err := ParseOffset(FormatOffset(d)); err != nil || got != d {
			t.Fatalf("%v came back as %v, %v", d, got, err)
		}
	})
}

func TestPresenceComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string) Opt[string] {
			switch rapid.IntRange(0, 2).Draw(t, name) {
			case 0:
				return Opt[string]{}
			case 1:
				return NullOf[string]()
			}
			return Some(rapid.String().Draw(t, name))
		}
		in := Assignee{Name: pick("name"), Email: pick("email"), Team: pick("team")}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out Assignee
		if err := json.Unmarshal(b, &out); err != nil || !out.Name.Equal(in.Name) || !out.Email.Equal(in.Email) || !out.Team.Equal(in.Team) {
			t.Fatalf("%s came back as %+v, %v", b, out, err)
		}
	})
}

// A budget under any mixture of calls and answers never has more slots out than
// its limits in any window, as seen by a service that counts at any moment.
func TestNoWindowHoldsMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		pace := 1 + rapid.Int64Range(100, 4000).Draw(t, "pace of answers, ms")
		now := testTime
		b := NewBudget(BudgetOptions{Now: func() time.Time { return now }, Rand: r.Float64})
		b.loaded = true
		counted := map[Class][]time.Time{}
		var flying []*slot
		for range 600 {
			b.mu.Lock() // the budget's timer runs in real time
			now = now.Add(time.Duration(r.Int64N(pace)) * time.Millisecond)
			for range r.IntN(6) {
				narrow := []Class{ClassHeavy, ClassDownload}[r.IntN(2)]
				w := &waiter{classes: []Class{ClassGlobal, narrow}, granted: make(chan struct{})}
				b.waiting = append(b.waiting, w)
				b.serve()
				b.waiting = nil
				b.setTimer(now)
				if w.slot != nil {
					flying = append(flying, w.slot)
				}
			}
			b.mu.Unlock()
			for len(flying) > 0 && r.IntN(4) > 0 {
				i := r.IntN(len(flying))
				s := flying[i]
				flying = append(flying[:i], flying[i+1:]...)
				at := s.start.Add(time.Duration(r.Int64N(int64(now.Sub(s.start)) + 1)))
				for _, c := range s.classes {
					counted[c] = append(counted[c], at)
				}
				b.finish(t.Context(), s, http.StatusOK, http.Header{})
			}
		}
		for c, times := range counted {
			slices.SortFunc(times, time.Time.Compare)
			for i, n := 0, nominalLimit(c); i+n < len(times); i++ {
				if times[i+n].Sub(times[i]) < windowLength {
					t.Fatalf("%d calls of class %s within %v", n+1, c, times[i+n].Sub(times[i]))
				}
			}
		}
	})
}
