package rawjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestHashesStayAsTheyWere holds the hashes of odd texts to the frozen ones: the
// archives that exist are full of them.
func TestHashesStayAsTheyWere(t *testing.T) {
	for _, f := range readFrozen(t) {
		if hash, _ := Hash([]byte(f.text)); hex.EncodeToString(hash[:]) != f.hash {
			t.Errorf("%.60q has the hash %x", f.text, hash)
		}
	}
}

type frozen struct{ text, hash string }

// readFrozen reads testdata/frozen.txt. A line is a quoted text, its hash and
// that of the parts of the meeting that it is ("-": none); or the word deep, a
// pair of marks, how deep it is nested, and the hash.
func readFrozen(t *testing.T) (all []frozen) {
	t.Helper()
	raw, err := os.ReadFile("testdata/frozen.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if deep, ok := strings.CutPrefix(line, "deep "); ok {
			f := strings.Fields(deep)
			n, _ := strconv.Atoi(f[1])
			all = append(all, frozen{nest(f[0], n), f[2]})
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		text, _ := strconv.Unquote(quoted)
		all = append(all, frozen{text, strings.Fields(line[len(quoted):])[0]})
	}
	if len(all) < 150 {
		t.Fatalf("only %d texts", len(all))
	}
	return all
}

func nest(pair string, depth int) string {
	if pair == "[]" {
		return strings.Repeat("[", depth) + strings.Repeat("]", depth)
	}
	return strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1)
}

// FuzzHash compares the package with encoding/json: both accept the same texts and read
// the same members, and spacing and key order do not change the hash.
func FuzzHash(f *testing.F) {
	f.Add(`{"b":[1.0,{"a":"\u00e9"}],"a":null,"b":"\ud800"}`)
	f.Fuzz(func(t *testing.T, s string) {
		raw := []byte(s)
		hash, valid := Hash(raw)
		if valid != json.Valid(raw) {
			t.Fatalf("%q: valid %v", s, valid)
		}
		members, err := Members(raw)
		if !valid {
			if err != ErrNotJSON {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, raw, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		if again, _ := Hash(indented.Bytes()); again != hash {
			t.Fatalf("%q: another hash when it is indented", s)
		}
		if err != nil {
			return
		}
		var o, reversed Object
		for i, m := range members {
			o.Add(m.RawKey, m.Value)
			r := members[len(members)-1-i]
			reversed.Add(r.RawKey, r.Value)
		}
		if !Equal(o.Bytes(), raw) {
			t.Fatalf("%q: members make %s", s, o.Bytes())
		}
		if distinct(members) && !Equal(reversed.Bytes(), raw) {
			t.Fatalf("%q: the order of the keys counts", s)
		}
	})
}

func distinct(members []Member) bool {
	keys := map[string]bool{}
	for _, m := range members {
		keys[m.Key] = true
	}
	return len(keys) == len(members)
}

func TestElementsStopWhenNobodyAsks(t *testing.T) {
	var got []string
	for e := range Elements([]byte(` [ 1.50 ,"a", {"b" : 1} , 4 ] `)) {
		if got = append(got, string(e)); len(got) == 3 {
			break
		}
	}
	if strings.Join(got, "|") != `1.50|"a"|{"b" : 1}` {
		t.Errorf("got %q", got)
	}
}
