package httpres

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

var (
	errForgotten   error = &bodyError{errors.New("it is too long to be sent again")}
	errWrongLength       = errors.New("its length is not the request's ContentLength")
)

// recording is a body that can be read once. It goes to the first attempt as it comes and is remembered, within a
// limit, for the next. It is closed when the call is done and the base has closed the body of its last attempt.
//
// A base may still read an attempt's body when it has returned, until that is closed.
type recording struct {
	src io.ReadCloser

	reading chan struct{} // full while src is read: the next attempt goes on after the last one's last read
	mu      sync.Mutex    // guards what follows; never held while src is read or closed
	limit   int64
	kept    []byte // what was read of src, nil as soon as that exceeds limit
	read    int64  // bytes read of src
	err     error  // how src ended
	users   int    // the call, and the attempts' bodies that are not closed; the last one closes src
	closed  bool   // src is: an attempt that nobody waits for may come later still
	current *replay
	length  int64 // the request's ContentLength
}

func newRecording(req *http.Request) *recording {
	return &recording{src: req.Body, reading: make(chan struct{}, 1), users: 1, length: req.ContentLength}
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
	r.current = &replay{recording: r, closed: make(chan struct{})}
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

// parallel is false: the source is read once, by one attempt.
func (r *recording) parallel() bool { return false }

func (r *recording) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil && r.err != io.EOF:
		return r.err
	case r.length > 0 && (r.read > r.length || r.read < r.length && r.err == io.EOF):
		return errWrongLength
	}
	return nil
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
	last := r.users == 0 && !r.closed
	r.closed = r.closed || last
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

// next reads src on, if offset is still where it stands when it is the reader's turn.
func (r *recording) next(offset int64, p []byte, closed <-chan struct{}) (int, error) {
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-closed:
		return 0, http.ErrBodyReadAfterClose
	}
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

// replay is the body of one attempt. One goroutine at a time reads it; others may close it.
type replay struct {
	recording *recording
	offset    int64
	once      sync.Once
	closed    chan struct{}
	after     func() // what is to be done when it is closed; guarded by recording.mu
}

func (b *replay) Read(p []byte) (int, error) {
	if b.isClosed() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, more, err := b.recording.at(b.offset, p)
	if more {
		n, err = b.recording.next(b.offset, p, b.closed)
	}
	b.offset += int64(n)
	return n, err
}

func (b *replay) Close() (err error) {
	b.once.Do(func() {
		b.recording.mu.Lock()
		close(b.closed)
		after := b.after
		b.recording.mu.Unlock()
		if after != nil {
			defer after()
		}
		err = b.recording.leave()
	})
	return err
}

// whenClosed has f called when the body is closed: at once if it is.
func (b *replay) whenClosed(f func()) {
	b.recording.mu.Lock()
	closed := b.isClosed()
	if !closed {
		b.after = f
	}
	b.recording.mu.Unlock()
	if closed {
		f()
	}
}

func (b *replay) isClosed() bool {
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}
