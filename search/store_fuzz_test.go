package search

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/blevesearch/bleve/v2"

	"minutebook/archive"
)

// FuzzStore: an index whose state, description or list of segments has any bytes, or one that
// was damaged, is opened with the state that it says, or is refused.
func FuzzStore(f *testing.F) {
	const floor = 1
	template := filepath.Join(f.TempDir(), "index")
	s, err := createStore(template, floor, archive.Position{Epoch: "e", Seq: 7})
	if err == nil {
		err = s.close()
	}
	if err != nil {
		f.Fatal(err)
	}
	description, err := os.ReadFile(filepath.Join(template, "index_meta.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"Format":5,"Position":{"Epoch":"e","Seq":7},"Built":true,"Next":{"Start":1,"RecordingID":2},"Walked":-1}`), "state", uint32(0), byte(0))
	f.Add([]byte(`{"Format":4}`), "state", uint32(0), byte(0))
	f.Add([]byte(`null`), "state", uint32(0), byte(0))
	f.Add(description, "index_meta.json", uint32(0), byte(0))
	f.Add([]byte(`{"storage":"boltdb","index_type":"upside_down","config":null}`), "index_meta.json", uint32(0), byte(0))
	for at := range uint32(16) {
		f.Add([]byte{}, "root.bolt", at*1024+16, byte(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, part string, at uint32, change byte) {
		path := filepath.Join(t.TempDir(), "index")
		if err := os.CopyFS(path, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		switch part {
		case "state":
			idx, err := bleve.OpenUsing(path, bleveSettings(floor))
			if err != nil {
				t.Fatal(err)
			}
			b, saved := idx.NewBatch(), make(chan error, 1)
			b.SetInternal(stateKey, raw)
			b.SetPersistedCallback(func(err error) { saved <- err })
			if err := idx.Batch(b); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(<-saved, idx.Close()); err != nil {
				t.Fatal(err)
			}
		case "root.bolt":
			root := filepath.Join(path, "store", "root.bolt")
			whole, err := os.ReadFile(root)
			if err == nil {
				if whole[int(at)%len(whole)] ^= change; len(raw) > 0 {
					whole = raw
				}
				err = os.WriteFile(root, whole, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		default:
			if err := os.WriteFile(filepath.Join(path, "index_meta.json"), raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := openStore(path, format, floor)
		if err != nil {
			return
		}
		var want state
		if err := json.Unmarshal(raw, &want); part == "state" && (err != nil || want.Format != format || !reflect.DeepEqual(s.lastState(), want)) {
			t.Errorf("%q is read as %+v", raw, s.lastState())
		}
		if err := s.close(); err != nil && part != "root.bolt" {
			t.Error(err)
		}
	})
}
