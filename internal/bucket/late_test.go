package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
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

// emptyPages answers with pages that have no object, and each a next one.
type emptyPages struct{ pages int }

func (e *emptyPages) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	if e.pages++; e.pages > 10_000 {
		return nil, errors.New("asked for too many pages")
	}
	page := fmt.Sprintf("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>", e.pages)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page)), Request: r}, nil
}

// TestAListOfEmptyPagesEnds reads a list whose pages are empty, without an end.
func TestAListOfEmptyPagesEnds(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	synctest.Test(t, func(t *testing.T) {
		b, err := OpenWith("s3://recordings?region=here&endpoint=https://bucket.test", Line{Transport: &emptyPages{}})
		if err != nil {
			t.Fatal(err)
		}
		const want = "bucket recordings at bucket.test: its list has had only empty pages for ten minutes; see whether the server works, and what is in between"
		for _, err = range b.List(t.Context(), "") {
			if err == nil || err.Error() != want || !IsUnavailable(err) {
				t.Errorf("the list ends with %v", err)
			}
		}
		if err == nil {
			t.Error("the list ends without an error")
		}
	})
}
