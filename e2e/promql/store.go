package promql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/timestamp"
	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

// Store keeps scrapes and answers queries. Its methods are not safe for concurrent use.
type Store struct {
	db  *teststorage.TestStorage
	eng *engine.Engine
}

// NewStore returns an empty store, which is closed when the test ends.
func NewStore(t testing.TB) *Store {
	s := &Store{
		db: teststorage.New(t),
		eng: engine.NewEngine(engine.EngineOpts{MaxSamples: 1e8, Timeout: time.Minute, EnableAtModifier: true,
			EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{})}),
	}
	t.Cleanup(func() { _ = s.eng.Close() })
	return s
}

// Append adds what was scraped, with the labels that Prometheus gives a target. Samples keep both kinds of buckets of a
// histogram, native and classic.
func (s *Store) Append(target map[string]string, scrapes ...Scrape) error {
	for _, sc := range scrapes {
		if err := s.append(target, sc); err != nil {
			return fmt.Errorf("promql: scrape at %v: %w", sc.At, err)
		}
	}
	return nil
}

func (s *Store) append(target map[string]string, sc Scrape) error {
	p, err := textparse.New(sc.Body, sc.ContentType, labels.NewSymbolTable(), textparse.ParserOptions{
		KeepClassicOnClassicAndNativeHistograms: true})
	if err != nil {
		return err
	}
	at := timestamp.FromTime(sc.At)
	app := s.db.Appender(context.Background())
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return app.Commit()
		}
		if err == nil {
			err = sample(app, p, entry, at, target)
		}
		if err != nil {
			return errors.Join(err, app.Rollback())
		}
	}
}

// sample appends the entry that p stands on, if it is a sample.
func sample(app storage.Appender, p textparse.Parser, entry textparse.Entry, at int64, target map[string]string) error {
	var l labels.Labels
	switch entry {
	case textparse.EntrySeries:
		p.Labels(&l)
		_, _, v := p.Series()
		_, err := app.Append(0, with(l, target), at, v)
		return err
	case textparse.EntryHistogram:
		p.Labels(&l)
		_, _, h, fh := p.Histogram()
		_, err := app.AppendHistogram(0, with(l, target), at, h, fh)
		return err
	}
	return nil
}

func with(l labels.Labels, target map[string]string) labels.Labels {
	b := labels.NewBuilder(l)
	for name, value := range target {
		b.Set(name, value)
	}
	return b.Labels()
}
