package bucket

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// silent answers nothing.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSilenceIsSaidInOurWords has a server answer nothing: the error has no words of the
// client's, which name the whole address.
func TestSilenceIsSaidInOurWords(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	synctest.Test(t, func(t *testing.T) {
		b, err := OpenWith("s3://recordings?region=here&endpoint=https://bucket.test", Line{Transport: silent{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = b.Check(ctx)
		const want = "bucket recordings at bucket.test: it does not answer in time; see whether the server works, and whether this machine reaches it"
		if err == nil || err.Error() != want || !IsLate(err) || !IsUnavailable(err) {
			t.Errorf("%v, late %t", err, IsLate(err))
		}
	})
}
