package segment

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
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// PauseName names to Bleve the wait after a failed write or merge, which it tries again at
// once. Without the wait a full disk would keep a processor busy.
const PauseName = "minutebook pause"

// failurePause is that wait. Bleve does not tell of a close, which waits for it.
const failurePause = time.Second

// TypeName and Version name the segments of these indexes to Bleve. They are of the
// format that zapx version 17 reads, merges and checks; only the first writing of a
// batch is done here, out of a [Builder].
const (
	TypeName = "minutebook"
	Version  = zap.Version
)

func init() {
	scorch.RegisterSegmentPlugin(&plugin{}, false)
	scorch.RegistryAsyncErrorCallbacks[PauseName] = func(error, string) { time.Sleep(failurePause) }
}

// plugin is zapx's, but for how segments are made of a batch.
type plugin struct{ zap.ZapPlugin }

// Type and Version name the type of segments to Bleve.
func (*plugin) Type() string    { return TypeName }
func (*plugin) Version() uint32 { return Version }

// New makes a segment in memory of the documents of one [Builder].
func (p *plugin) New(docs []index.Document) (segmentapi.Segment, uint64, error) {
	return p.NewUsing(docs, nil)
}

// NewUsing is New with Bleve's settings.
func (*plugin) NewUsing(docs []index.Document, config map[string]any) (segmentapi.Segment, uint64, error) {
	from, err := builderOf(docs)
	if err != nil {
		return nil, 0, err
	}
	mem, places, err := buildSegment(from)
	if err != nil {
		return nil, 0, fmt.Errorf("write a segment of the search index: %w", err)
	}
	stats, _ := config[segmentapi.StatsKey].(*segmentapi.Stats)
	if stats == nil {
		stats = &segmentapi.Stats{}
	}
	seg, err := zap.InitSegmentBase(mem, crc32.ChecksumIEEE(mem), zap.DefaultChunkMode, uint64(len(from.docs)), places.stored, places.sections, config, stats)
	if err != nil {
		return nil, 0, err
	}
	return seg, uint64(len(mem)), nil
}

// Open is zapx's, but for files that are cut short while they are read, and those with
// absurd numbers. Both are an error and not the end of the program.
func (p *plugin) Open(path string) (segmentapi.Segment, error) { return p.OpenUsing(path, nil) }

// OpenUsing is Open with Bleve's settings.
func (p *plugin) OpenUsing(path string, config map[string]any) (_ segmentapi.Segment, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer RecoverDamage("open a segment of the", path, &err)
	if err := checkLayout(path); err != nil {
		return nil, err
	}
	return p.ZapPlugin.OpenUsing(path, config)
}

// MergeUsing is zapx's, but for files that are cut short while they are read.
func (p *plugin) MergeUsing(segments []segmentapi.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, s segmentapi.StatsReporter, config map[string]any) (numbers [][]uint64, size uint64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer RecoverDamage("merge segments of the", path, &err)
	return p.ZapPlugin.MergeUsing(segments, drops, path, closed, s, config)
}

// builderOf returns the builder that all documents are of.
func builderOf(docs []index.Document) (from *Builder, err error) {
	for _, d := range docs {
		d.VisitFields(func(f index.Field) {
			if h, ok := f.(*builderField); ok {
				from = h.builder
			}
		})
		break
	}
	if from == nil || len(from.docs) != len(docs) {
		return nil, errors.New("write a segment of the search index: the batch is not what was gathered")
	}
	return from, nil
}

// builderField is the one field that Bleve sees of a document: it leads to the builder
// that has the rest.
type builderField struct{ builder *Builder }

// Name and the other methods make builderField a field to Bleve.
func (*builderField) Name() string                                     { return "held" }
func (*builderField) ArrayPositions() []uint64                         { return nil }
func (*builderField) Options() index.FieldIndexingOptions              { return 0 }
func (*builderField) Analyze()                                         {}
func (*builderField) Value() []byte                                    { return nil }
func (*builderField) NumPlainTextBytes() uint64                        { return 0 }
func (*builderField) Size() int                                        { return 0 }
func (*builderField) EncodedFieldType() byte                           { return 't' }
func (*builderField) AnalyzedLength() int                              { return 0 }
func (*builderField) AnalyzedTokenFrequencies() index.TokenFrequencies { return nil }

// AddTo adds the documents to a batch of Bleve's, which has the plugin write
// them as one segment.
func (b *Builder) AddTo(batch *bleve.Batch) error {
	for _, d := range b.docs {
		doc := document.NewDocument(d.id)
		doc.AddField(&builderField{b})
		if err := batch.IndexAdvanced(doc); err != nil {
			return fmt.Errorf("index %s: %w", d.id, err)
		}
	}
	return nil
}
