package httpres

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

var errForgotten error = &bodyError{errors.New("it is too long to be sent again")}

// recording is a body that can be read once. It goes to the first attempt as it comes and is remembered, within a limit, for the
// next. It is closed when the call is done and the base has closed the body of its last attempt.
//
// A base may still read an attempt's body when it has returned, until that is closed.
type recording struct {
	src io.ReadCloser

	reading sync.Mutex // held while src is read: the next attempt goes on after the last one's last read. Taken before mu
	mu      sync.Mutex // guards what follows; never held while src is read or closed
	limit   int64
	kept    []byte // what was read of src, nil as soon as that exceeds limit
	read    int64  // bytes read of src
	err     error  // how src ended
	users   int    // the call, and the attempts' bodies that are not closed; the last one closes src
	current *replay
	length  int64 // the request's ContentLength
}

func newRecording(req *http.Request) *recording {
	return &recording{src: req.Body, users: 1, length: req.ContentLength}
}

// keep sets how many bytes are remembered, before the first is read.
func (r *recording) keep(limit int64) {
	if r.length <= limit { // else the whole will not be had: no use in having a part
		r.limit = limit
	}
}

func (r *recording) open() (io.ReadCloser, error) {
	r.mu.Lock()
	before := r.current
	r.current = &replay{recording: r}
	r.users++
	body := r.current
	r.mu.Unlock()
	if before != nil {
		before.Close()
	}
	return body, nil
}

func (r *recording) whole() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read == int64(len(r.kept)) && (r.err == nil || r.err == io.EOF)
}

func (r *recording) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

func (r *recording) done(answered bool) {
	r.mu.Lock()
	current := r.current
	r.mu.Unlock()
	if current != nil && !answered {
		current.Close()
	}
	r.leave()
}

func (r *recording) leave() error {
	r.mu.Lock()
	r.users--
	last := r.users == 0
	r.mu.Unlock()
	if last {
		return r.src.Close()
	}
	return nil
}

// at copies what is remembered from offset on. more: that is all, and src has not ended.
func (r *recording) at(offset int64, p []byte) (n int, more bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case offset == r.read:
		return 0, r.err == nil, r.err
	case r.read != int64(len(r.kept)):
		return 0, false, errForgotten
	}
	return copy(p, r.kept[offset:]), false, nil
}

// next reads src on, if offset is still where it stands.
func (r *recording) next(offset int64, p []byte) (int, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if n, more, err := r.at(offset, p); !more {
		return n, err // the attempt before had a read under way
	}
	n, err := r.src.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := int64(len(r.kept)); known == r.read && known+int64(n) <= r.limit {
		r.kept = append(r.kept, p[:n]...)
	} else if n > 0 {
		r.kept = nil
	}
	r.read += int64(n)
	r.err = err
	return n, err
}

// replay is the body of one attempt. One goroutine at a time reads it; another may close it.
type replay struct {
	recording *recording
	offset    int64
	closed    atomic.Bool
}

func (b *replay) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, more, err := b.recording.at(b.offset, p)
	if more {
		n, err = b.recording.next(b.offset, p)
	}
	b.offset += int64(n)
	return n, err
}

func (b *replay) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.recording.leave()
}
