// Package show prints what the pipelines of an example tell, a short line an event.
package show

import (
	"io"
	"log/slog"
	"slices"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/slogres"
)

// shown are the attributes that a line has. A service writes them all.
var shown = []string{
	slog.LevelKey, slog.MessageKey, events.KeyPipelineName, events.KeyLayerName, events.KeyAttemptNumber, events.KeyOutcome, events.KeyReason,
	events.KeyErrorType, events.KeyState,
}

// Events has what is told on bus written to w until stop is called.
func Events(bus *events.Bus, w io.Writer) (stop func()) {
	handler := slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: few})
	return slogres.MustAttach(bus, slogres.Config{Handler: handler, Skip: dull})
}

func few(_ []string, a slog.Attr) slog.Attr {
	if !slices.Contains(shown, a.Key) {
		return slog.Attr{}
	}
	return a
}

// dull leaves out the starts of calls, whose ends tell more, attempts that succeed, and that pipelines come and go.
func dull(e events.Event) bool {
	switch e := e.(type) {
	case events.SourceAdded, events.SourceRemoved:
		return true
	case events.AttemptFinished:
		return e.Outcome == events.OutcomeSuccess
	}
	return slogres.SkipStarts(e)
}
