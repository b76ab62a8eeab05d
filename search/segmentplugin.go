package search

import (
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// The segments of these indexes are Bleve's own, of the format that zapx
// version 17 reads, merges and checks. Only the first writing of a batch is
// done here, out of an inverter. Bleve is told of it as of a segment type of its
// own.
const (
	segmentType    = "minutebook"
	segmentVersion = zap.Version
)

func init() { scorch.RegisterSegmentPlugin(&segmentPlugin{}, false) }

// segmentPlugin is zapx's, but for how segments are made.
type segmentPlugin struct{ zap.ZapPlugin }

// Type and Version name the type of segments to Bleve.
func (*segmentPlugin) Type() string    { return segmentType }
func (*segmentPlugin) Version() uint32 { return segmentVersion }

// New makes a segment in memory of the documents of one inverter.
func (p *segmentPlugin) New(docs []index.Document) (segment.Segment, uint64, error) {
	return p.NewUsing(docs, nil)
}

// NewUsing is New with Bleve's settings.
func (*segmentPlugin) NewUsing(docs []index.Document, config map[string]any) (segment.Segment, uint64, error) {
	from, err := inverterOf(docs)
	if err != nil {
		return nil, 0, err
	}
	mem, places, err := writeSegment(from)
	if err != nil {
		return nil, 0, fmt.Errorf("write a segment of the search index: %w", err)
	}
	stats, _ := config[segment.StatsKey].(*segment.Stats)
	if stats == nil {
		stats = &segment.Stats{}
	}
	seg, err := zap.InitSegmentBase(mem, crc32.ChecksumIEEE(mem), zap.DefaultChunkMode, uint64(len(from.docs)), places.stored, places.sections, config, stats)
	if err != nil {
		return nil, 0, err
	}
	return seg, uint64(len(mem)), nil
}

// Open is zapx's, but for files that are cut short while they are read, which
// are an error and not the end of the program.
func (p *segmentPlugin) Open(path string) (segment.Segment, error) { return p.OpenUsing(path, nil) }

// OpenUsing is Open with Bleve's settings.
func (p *segmentPlugin) OpenUsing(path string, config map[string]any) (_ segment.Segment, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recovered("open a segment of the", path, &err)
	return p.ZapPlugin.OpenUsing(path, config)
}

// MergeUsing is zapx's, but for files that are cut short while they are read.
// Since Bleve tries again at once, it waits then.
func (p *segmentPlugin) MergeUsing(segments []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, s segment.StatsReporter, config map[string]any) (numbers [][]uint64, size uint64, err error) {
	defer func() {
		if errors.Is(err, ErrDamaged) {
			wait := time.NewTimer(retryAfter)
			defer wait.Stop()
			select {
			case <-closed:
			case <-wait.C:
			}
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recovered("merge segments of the", path, &err)
	return p.ZapPlugin.MergeUsing(segments, drops, path, closed, s, config)
}

// inverterOf is the inverter that all documents are of.
func inverterOf(docs []index.Document) (from *inverter, err error) {
	for _, d := range docs {
		d.VisitFields(func(f index.Field) {
			if h, ok := f.(*held); ok {
				from = h.by
			}
		})
		break
	}
	if from == nil || len(from.docs) != len(docs) {
		return nil, errors.New("write a segment of the search index: the batch is not what was gathered")
	}
	return from, nil
}

// held is the one field that Bleve sees of a document: it says which inverter
// holds the rest.
type held struct{ by *inverter }

// Name and the other methods are what Bleve asks of a field.
func (*held) Name() string                                     { return "held" }
func (*held) ArrayPositions() []uint64                         { return nil }
func (*held) Options() index.FieldIndexingOptions              { return 0 }
func (*held) Analyze()                                         {}
func (*held) Value() []byte                                    { return nil }
func (*held) NumPlainTextBytes() uint64                        { return 0 }
func (*held) Size() int                                        { return 0 }
func (*held) EncodedFieldType() byte                           { return 't' }
func (*held) AnalyzedLength() int                              { return 0 }
func (*held) AnalyzedTokenFrequencies() index.TokenFrequencies { return nil }

// into puts the documents gathered into a batch of Bleve's.
func (v *inverter) into(b *bleve.Batch) error {
	for _, d := range v.docs {
		doc := document.NewDocument(d.id)
		doc.AddField(&held{v})
		if err := b.IndexAdvanced(doc); err != nil {
			return fmt.Errorf("index %s: %w", d.id, err)
		}
	}
	return nil
}
