package inbox

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// BenchmarkPut puts deliveries of 50 KB from 64 senders.
func BenchmarkPut(b *testing.B) {
	i, err := Open(b.Context(), filepath.Join(b.TempDir(), "inbox.db"), Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	var text bytes.Buffer
	for n := 0; text.Len() < 50_000; n++ {
		fmt.Fprintf(&text, `{"speaker":{"display_name":"Speaker %d"},"text":"word%d and word%d","timestamp":"00:00:00"},`, n%5, n*7919%1000, n*104729%1000)
	}
	var id atomic.Int64
	b.SetBytes(int64(text.Len()))
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			d := Delivery{Account: "a", WebhookID: fmt.Sprint("msg_", id.Add(1)), Body: text.Bytes()}
			if _, err := i.Put(b.Context(), d); err != nil {
				b.Error(err)
			}
		}
	})
}
