package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/internal/durable"
	"minutebook/internal/phrase"
)

// findDoubts returns the reasons against removing older generations: one cannot be
// read, has meetings or changes that are not here and were not forgotten, or may have content
// that a repair gave up. A person can accept that this is missing, for the generations up to now.
func (b *run) findDoubts(ctx context.Context, m generation.Manifest) ([]string, error) {
	doubts := []string{}
	forgotten, _, err := b.archive.Tombstones(ctx)
	if err != nil {
		return nil, err
	}
	leftAt, err := b.archive.LeftAt(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range b.dir.all {
		if errors.Is(g.Damage, fs.ErrPermission) {
			doubts = append(doubts, fmt.Sprintf("%s cannot be read (%v)", g.Path(), durable.ExplainAccess(b.dir.place.String(), g.Damage)))
			continue
		}
		if g.Damage != nil {
			doubts = append(doubts, fmt.Sprintf("%s cannot be read (%v); delete it when nothing is to be had from it", g.Path(), g.Damage))
			continue
		}
		if m.AcceptedFewer || slices.ContainsFunc(b.dir.all, func(o generation.Generation) bool { return o.AcceptedFewer && o.Number > g.Number }) {
			continue
		}
		if g.Epoch == m.Epoch && g.Seq > m.Seq {
			doubts = append(doubts, fmt.Sprintf("%s has %s more than the archive: archive.db was replaced by an older copy", g.Name, phrase.Count(g.Seq-m.Seq, "change", "changes")))
		}
		if left, found := leftAt[g.Epoch]; found && g.Seq > left {
			doubts = append(doubts, fmt.Sprintf("%s has %s that came after the copy of which this archive was made", g.Name, phrase.Count(g.Seq-left, "change", "changes")))
		}
		if meetings := missingMeetings(g, m, forgotten); meetings != "" {
			doubts = append(doubts, fmt.Sprintf("%s holds meetings that are not in the archive and were not forgotten: %s", g.Name, meetings))
		}
		var gaveUp []string
		for _, c := range m.GivenUp {
			if g.MayHave(c) {
				gaveUp = append(gaveUp, fmt.Sprintf("%s of meeting %d", cmp.Or(c.Part, "a version"), c.RecordingID))
			}
		}
		if content := enumerate(slices.Compact(gaveUp)); content != "" {
			doubts = append(doubts, fmt.Sprintf("%s may have the last copy of content that a repair gave up: %s", g.Name, content))
		}
	}
	return doubts, nil
}

// missingMeetings names the meetings of a generation that were not forgotten and are
// not in a later one.
func missingMeetings(g generation.Generation, m generation.Manifest, forgotten []int64) string {
	if g.Version == generation.FirstVersion { // its manifest has only their number
		if n := g.Meetings - m.Meetings - len(forgotten); n > 0 {
			return fmt.Sprintf("%d or more", n)
		}
		return ""
	}
	var ids []string
	for _, id := range g.IDs {
		_, found := slices.BinarySearch(m.IDs, id)
		_, gone := slices.BinarySearch(forgotten, id)
		if !found && !gone {
			ids = append(ids, fmt.Sprint(id))
		}
	}
	return enumerate(ids)
}

// enumerate returns the first of some words in a line.
func enumerate(words []string) string {
	const most = 10
	if n := len(words) - most; n > 0 {
		words = append(slices.Clone(words[:most]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(words, ", ")
}

// spare returns the generations to remove but for the newest one with recordings, where all later
// ones were made without them: its recordings may be the last copies.
func (b *run) spare(remove []generation.Generation, m generation.Manifest) []generation.Generation {
	if !m.WithoutMedia {
		return remove
	}
	for i, g := range slices.Backward(b.dir.all) {
		if g.WithoutMedia {
			continue
		}
		if i < len(remove) && slices.ContainsFunc(g.Files, func(f generation.File) bool { return generation.IsRecording(f.Path) }) {
			b.result.Spared = append(b.result.Spared, g.Name+" stays, for it is the newest with recordings; delete it when they are kept elsewhere")
			remove = slices.Delete(slices.Clone(remove), i, i+1)
		}
		break
	}
	return remove
}

// prune removes the generations beyond those to keep, and the files of none.
func (b *run) prune(ctx context.Context, m generation.Manifest) error {
	noted := b.archive.NoteForgotten(ctx, b.dir.place.String()) // first: the removals may fail, each time
	older, remove := slices.Clone(b.dir.all), []generation.Generation(nil)
	if n := len(older) + 1 - b.Keep; b.Keep > 0 && n > 0 && len(b.result.Doubts) == 0 && len(b.result.Lost) == 0 {
		remove = b.spare(older[:n], m)
	}
	b.dir.all = append(b.dir.all, generation.Generation{Manifest: m, Place: b.dir.place, Name: b.name, Number: generation.NumberIn(b.name)})
	b.result.Pruned = []string{}
	for _, g := range remove {
		if err := b.dir.remove(ctx, g); err != nil {
			return errors.Join(noted, err)
		}
		b.result.Pruned = append(b.result.Pruned, g.Name)
	}
	if n := len(b.dir.away); n >= len(b.dir.all) && !b.AcceptFewer {
		b.result.Gone = b.dir.away[n-1]
	}
	return errors.Join(noted, b.dir.finishRemoval(ctx, b.archive, b.AcceptFewer))
}

// finishRemoval removes all that belongs to no generation, and then notes those that are left: until
// the last recording is removed, forget looks for it in a removed one.
func (d *directory) finishRemoval(ctx context.Context, a *archive.Archive, goneForGood bool) error {
	if err := d.sweep(ctx, true); err != nil {
		return err
	}
	return a.NoteGenerations(ctx, d.place.String(), d.all, goneForGood)
}

// Remove removes those generations of a directory of backups, by their paths, that have a
// meeting, the rest of an interrupted one, and the recordings that only they had. One that
// cannot be read stays.
func Remove(ctx context.Context, a *archive.Archive, dir string, paths []string, id int64) error {
	err := func() (err error) {
		d, err := openDirectory(ctx, a, dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.unlock()) }()
		for _, g := range slices.Clone(d.all) {
			if slices.Contains(paths, g.Path()) && g.Damage == nil && g.MayHaveMeeting(id) {
				if err := d.remove(ctx, g); err != nil {
					return err
				}
			}
		}
		return d.finishRemoval(ctx, a, false)
	}()
	if err != nil {
		return fmt.Errorf("remove generations of %s: %w", dir, err)
	}
	return nil
}

// refuseForeign fails for a generation of another archive, or of this one after
// another copy of it was restored and both went on.
func refuseForeign(g generation.Generation, lineage []string) error {
	if g.Damage != nil {
		return nil // it names no archive, and is never removed
	}
	other := g.Lineage
	if len(other) <= len(lineage) && slices.Equal(other, lineage[:len(other)]) {
		return nil
	}
	newest := fmt.Sprintf("%s, of %s with %s", g.Name, g.TakenAt.Format("2006-01-02 15:04"), phrase.Meetings(g.Meetings))
	if other[0] != lineage[0] {
		return fmt.Errorf("the directory has backups of another archive, %s (%s), and this one is %s; back up to a directory of its own; "+
			"if this data directory should be that archive, stop it and restore the backup", other[0], newest, lineage[0])
	}
	return fmt.Errorf("the directory has backups of another copy of this archive, %s: %s is of epoch %s, and this copy is of %s; one was restored "+
		"and both went on; back up to a directory of its own", lineage[0], newest, other[len(other)-1], strings.Join(lineage, ", then "))
}
