package importer

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/rawjson"
)

// identifyExported makes the observation of an exported meeting that of the meeting which one of its
// ids names here, and adds to the marks of the run. Its own id comes first: an export of an earlier
// version has no others.
func (im *run) identifyExported(ctx context.Context, o *archive.Observation) error {
	members, err := rawjson.Members(o.Parts[api.PartMeeting])
	if err != nil {
		return err
	}
	var others []int64
	for _, m := range members {
		if m.Key == archive.ImportedAsKey && json.Unmarshal(m.Value, &others) != nil {
			others = nil // another program's
		}
	}
	others = slices.DeleteFunc(others, func(id int64) bool { return !archive.IsForeignID(id) })
	ids := append([]int64{o.RecordingID}, others...)
	if slices.ContainsFunc(ids, im.isPending) {
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	is, unknown, err := im.findAny(ctx, ids)
	if err != nil {
		return err
	}
	im.markSame(is.id, unknown)
	if slices.Contains(others, o.RecordingID) && !is.forgotten && !is.hasKey {
		im.marks = append(im.marks, sameMark(is.id, is.id))
	}
	if len(others) == 0 && is.id == o.RecordingID {
		return nil
	}
	meeting := rawjson.NewObject(len(o.Parts[api.PartMeeting]))
	for _, m := range members {
		switch m.Key {
		case archive.ImportedAsKey:
			continue
		case "recording_id":
			m.Value = strconv.AppendInt(nil, is.id, 10)
		}
		meeting.Add(m.RawKey, m.Value)
	}
	o.RecordingID, o.Parts[api.PartMeeting] = is.id, meeting.Bytes()
	return nil
}

// isPending reports whether an id names a meeting that the archive does not have before the next
// batch.
func (im *run) isPending(id int64) bool {
	key := sameMark(id, 0).Key
	return slices.ContainsFunc(im.batch, func(o archive.Observation) bool { return o.RecordingID == id }) ||
		slices.ContainsFunc(im.marks, func(m archive.Mark) bool { return m.Key == key })
}
