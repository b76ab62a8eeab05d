package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// largeBody is of k alone and too large to be kept in SQLite under pressure.
func largeBody(k int) string {
	return fmt.Sprintf(`{"k":%d,"text":"%s"}`, k, strings.Repeat(fmt.Sprint("body", k, " "), 1+leastSpilled*2/6))
}

// spilling opens an inbox and spills n deliveries into it.
func spilling(t *testing.T, path string, n int) (i *Inbox, bring func()) {
	t.Helper()
	i = openTestInbox(t, path, InboxOptions{})
	return i, spillInto(t, i, n)
}

// spillInto puts n deliveries at once, msg_0 and on, which are all spilled.
// Nothing is brought in until bring is called.
func spillInto(t *testing.T, i *Inbox, n int) (bring func()) {
	t.Helper()
	i.bringing <- struct{}{}
	bring = sync.OnceFunc(func() { <-i.bringing })
	t.Cleanup(bring) // before Close, which waits for what brings in
	var list []Delivery
	for k := range n {
		list = append(list, delivery("a", fmt.Sprint("msg_", k), largeBody(k)))
		list[k].RecordingID = int64(100 + k)
	}
	pressedPut(t, i, list)
	if got := spilledRows(t, i); got != n {
		t.Fatalf("%d of %d bodies were spilled", got, n)
	}
	return bring
}

// pressedPut puts deliveries at once, behind something that makes much wait.
func pressedPut(t *testing.T, i *Inbox, list []Delivery) {
	t.Helper()
	gate := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := i.submit(t.Context(), &write{size: pressedBytes + 1, do: func(context.Context, *sql.Conn) error {
			<-gate
			return nil
		}}); err != nil {
			t.Error(err)
		}
	})
	queued(t, i, pressedBytes/1024)
	size := pressedBytes
	for _, d := range list {
		size += len(d.Body) + 1024
		wg.Go(func() {
			if _, err := i.Put(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, i, size/1024)
	close(gate)
	wg.Wait()
}

func spilledRows(t *testing.T, i *Inbox) (n int) {
	t.Helper()
	if err := i.db.R.QueryRow(`SELECT count(*) FROM deliveries WHERE spill <> 0`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func spillFiles(t *testing.T, i *Inbox) []int64 {
	t.Helper()
	numbers, err := i.spill.numbers()
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// bodiesOf are the bodies of what waits, by id.
func bodiesOf(t *testing.T, i *Inbox) map[string]string {
	t.Helper()
	ds, err := i.Pending(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range ds {
		got[d.WebhookID] = string(d.Body)
	}
	return got
}

func largeBodies(n int) map[string]string {
	want := map[string]string{}
	for k := range n {
		want[fmt.Sprint("msg_", k)] = largeBody(k)
	}
	return want
}

// What is spilled reads the same as what is not: at once, after reopening, and
// after it was brought in, when its file is gone.
func TestInboxSpilledBodiesAreReadAndBroughtIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	const n = 40
	i, bring := spilling(t, path, n)
	if diff := cmp.Diff(largeBodies(n), bodiesOf(t, i)); diff != "" {
		t.Error(diff)
	}
	if len(i.spill.dirty) > 0 {
		t.Error("deliveries were answered whose bodies were not synced")
	}
	info, err := os.Stat(i.spill.path(1))
	dir, dirErr := os.Stat(i.spill.dir)
	if err != nil || dirErr != nil || info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("the file of bodies is %v, its folder %v; %v, %v", info, dir, err, dirErr)
	}
	end := i.spill.end
	pressedPut(t, i, []Delivery{delivery("a", "msg_3", largeBody(3))})
	if i.spill.end != end {
		t.Error("a repeat's body was spilled")
	}
	bring()
	release, err := i.Whole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if rows, files := spilledRows(t, i), spillFiles(t, i); rows != 0 || len(files) != 0 {
		t.Errorf("%d rows and the files %v are left", rows, files)
	}
	if diff := cmp.Diff(largeBodies(n), bodiesOf(t, i)); diff != "" {
		t.Error(diff)
	}
	if !put(t, i, delivery("a", "msg_3", "{}")) {
		t.Error("a spilled delivery is taken for a new one")
	}
}

// Whoever read a row before its body was brought in finds it where it is now.
func TestInboxBodyIsFoundWhereItWent(t *testing.T) {
	i, bring := spilling(t, filepath.Join(t.TempDir(), "inbox.db"), 3)
	var p packedBody
	if err := i.db.R.QueryRow(`SELECT ` + bodyColumns[2:] + ` FROM deliveries WHERE webhook_id = 'msg_1'`).Scan(p.columns()...); err != nil {
		t.Fatal(err)
	}
	d, err := i.DeliveryOf(t.Context(), "a", "msg_1")
	if err != nil {
		t.Fatal(err)
	}
	bring()
	if err := i.bringIn(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if body, err := i.unpack(t.Context(), d.ID, p); err != nil || string(body) != largeBody(1) {
		t.Errorf("read as it was before: %d bytes, %v", len(body), err)
	}
}

// What is let go while its body is on its way into SQLite stays let go.
func TestInboxLetsGoWhatIsBroughtIn(t *testing.T) {
	i, _ := spilling(t, filepath.Join(t.TempDir(), "inbox.db"), 2)
	list, err := readSpilled(t.Context(), i.db.R, spillRef{}, 1)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d spilled, %v", len(list), err)
	}
	bodies, err := i.bring(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.dropBody(t.Context(), list[0].id); err != nil {
		t.Fatal(err)
	}
	if err := i.submit(t.Context(), &write{do: func(ctx context.Context, conn *sql.Conn) error { return putBrought(ctx, conn, bodies) }}); err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, true} {
		if d, err := i.Delivery(t.Context(), list[n].id); err != nil || (d.Body != nil) != want {
			t.Errorf("delivery %d has a body of %d bytes, %v", n, len(d.Body), err)
		}
	}
}

// A crash leaves rows, files, or both. What is whole is brought in; a delivery
// whose body never came to the disk was not answered, and is taken when it is
// sent again; one that was applied stays known.
func TestInboxOpensWithSpilledBodies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i, bring := spilling(t, path, 9)
	lost := map[string]bool{}
	rows, err := i.db.R.Query(`SELECT id, webhook_id FROM deliveries ORDER BY spill_at DESC LIMIT 3`)
	if err != nil {
		t.Fatal(err)
	}
	var applied int64
	var appliedID string
	for rows.Next() {
		if err := rows.Scan(&applied, &appliedID); err != nil {
			t.Fatal(err)
		}
		lost[appliedID] = true
	}
	if err := i.MarkApplied(t.Context(), applied); err != nil {
		t.Fatal(err)
	}
	var end int64
	if err := i.db.R.QueryRow(`SELECT spill_at FROM deliveries ORDER BY spill_at DESC LIMIT 1 OFFSET 2`).Scan(&end); err != nil {
		t.Fatal(err)
	}
	i.stopBringing()
	bring()
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path+"-spill", "1")
	whole, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{end + 100, whole.Size() - 10} { // the last is cut short, the others are zeros
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(path+"-spill", "7"), []byte("of a row that was rolled back"), 0o600); err != nil {
		t.Fatal(err)
	}
	i = openTestInbox(t, path, InboxOptions{})
	want := largeBodies(9)
	for id := range lost {
		delete(want, id)
	}
	if diff := cmp.Diff(want, bodiesOf(t, i)); diff != "" {
		t.Error(diff)
	}
	set, err := i.List(t.Context(), DeliveryQuery{State: StateQuarantined})
	if err != nil || len(set) != 2 {
		t.Errorf("%d deliveries are set aside, %v; want the two that were lost and not applied", len(set), err)
	}
	for id := range lost {
		if dup := put(t, i, delivery("a", id, "{}")); dup != (id == appliedID) {
			t.Errorf("%s again: duplicate %v", id, dup)
		}
	}
	if err := i.bringIn(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if files := spillFiles(t, i); len(files) != 0 {
		t.Errorf("the files %v are left", files)
	}
}

// What is forgotten is not in a file of bodies either.
func TestInboxForgetsSpilledBodies(t *testing.T) {
	dir := t.TempDir()
	i, bring := spilling(t, filepath.Join(dir, "inbox.db"), 5)
	bring()
	if err := i.ForgetRecording(t.Context(), 102); err != nil {
		t.Fatal(err)
	}
	if files := spillFiles(t, i); len(files) != 0 {
		t.Errorf("the files %v are left", files)
	}
	want := largeBodies(5)
	delete(want, "msg_2")
	if diff := cmp.Diff(want, bodiesOf(t, i)); diff != "" {
		t.Error(diff)
	}
}

// A body on a damaged disk is known as damaged, before and after it is brought in.
func TestInboxSpilledDamageIsSeen(t *testing.T) {
	i, bring := spilling(t, filepath.Join(t.TempDir(), "inbox.db"), 3)
	f, err := os.OpenFile(i.spill.path(1), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), 50); err != nil {
		t.Fatal(errors.Join(err, f.Close()))
	}
	f.Close()
	damaged := func() (n int) {
		for id, body := range bodiesOf(t, i) {
			if body != largeBodies(3)[id] {
				n++
			}
		}
		return n
	}
	if n := damaged(); n != 1 {
		t.Errorf("%d bodies do not come back; want the damaged one", n)
	}
	bring()
	if err := i.bringIn(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := damaged(); n != 1 {
		t.Errorf("%d bodies do not come back after they were brought in; want the damaged one", n)
	}
}

// A body that cannot be read now, for want of a descriptor, is not lost: bringing
// it in fails and is done again, and an inbox does not open.
func TestInboxKeepsWhatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	i, bring := spilling(t, path, 3)
	i.stopBringing()
	bring()
	file := i.spill.path(1)
	aside := file + "-aside"
	if err := errors.Join(os.Rename(file, aside), os.Symlink(file, file)); err != nil { // one that leads to itself
		t.Fatal(err)
	}
	if err := i.bringIn(t.Context(), nil); err == nil {
		t.Error("bodies that cannot be read were brought in")
	}
	if _, err := i.Pending(t.Context(), 10); err == nil {
		t.Error("bodies that cannot be read are pending as damaged ones")
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if i, err := OpenInbox(t.Context(), path, InboxOptions{}); err == nil {
		i.Close()
		t.Error("an inbox opened whose bodies cannot be read")
	}
	if err := os.Rename(aside, file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(largeBodies(3), bodiesOf(t, openTestInbox(t, path, InboxOptions{}))); diff != "" {
		t.Error(diff)
	}
}

// While bodies are to be in SQLite they go there, also those that came before.
func TestInboxHoldsBodies(t *testing.T) {
	i := openTestInbox(t, filepath.Join(t.TempDir(), "inbox.db"), InboxOptions{})
	i.spill.hold()
	pressedPut(t, i, []Delivery{delivery("a", "msg_0", largeBody(0))})
	if n := spilledRows(t, i); n != 0 {
		t.Errorf("%d bodies were spilled", n)
	}
}

// What arrives about a forgotten meeting leaves nothing in the files of bodies.
func TestInboxDropsSpilledBodiesOfTheForgotten(t *testing.T) {
	i, bring := spilling(t, filepath.Join(t.TempDir(), "inbox.db"), 2)
	i.stopBringing()
	bring()
	<-i.bringEnded
	select {
	case <-i.wasSpilled: // of when they were put
	default:
	}
	i.forgotten = func(_ context.Context, id int64) (bool, error) { return id == 100, nil }
	d, err := i.DeliveryOf(t.Context(), "a", "msg_0")
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Settle(t.Context(), Outcome{ID: d.ID, RecordingID: 100}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-i.wasSpilled:
	default:
		t.Error("nothing is to be brought in; the body stays in its file")
	}
}
