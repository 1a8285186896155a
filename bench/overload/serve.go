package overload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// ready is what a service in a process of its own says when it can be called.
const ready = "ready"

// Serve is the other process: it serves calls on a unix socket until the first
// connection to it has ended and all others have, and then writes to out how
// much processor time it used.
func (r Run) Serve(ctx context.Context, socket string, out io.Writer) error {
	e, setting, err := r.find()
	if err != nil {
		return err
	}
	l, err := newLocal(&e, setting)
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return errors.Join(err, ended(l))
	}
	fmt.Fprintln(out, "\n"+ready)
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	serveAll(ctx, listener, l)
	processor, err := l.end()
	return errors.Join(err, json.NewEncoder(out).Encode(processor))
}

func ended(l *local) error {
	_, err := l.end()
	return err
}

// serveAll serves the connections of one driver: when one has ended, no more
// are taken.
func serveAll(ctx context.Context, listener net.Listener, l *local) {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		group.Go(func() {
			defer listener.Close()
			defer conn.Close()
			serveConn(ctx, conn, l)
		})
	}
}

// serveConn reads calls and starts a goroutine for each, as net/http does for
// a connection. It does not wait for those that run when the driver leaves:
// with nothing that sheds, it may be thousands.
func serveConn(ctx context.Context, conn net.Conn, l *local) {
	var mu sync.Mutex
	buffered := bufio.NewReader(conn)
	for {
		var f frame
		if read(buffered, &f) != nil {
			return
		}
		go func() {
			v := verdict{ID: f.ID, Word: l.answer(ctx, &f)}
			mu.Lock()
			defer mu.Unlock()
			_ = write(conn, &v) // a driver that has left does not hear
		}()
	}
}

// answer serves one call. Its context ends when the caller leaves, which is
// when it is due.
func (l *local) answer(ctx context.Context, f *frame) uint8 {
	call := f.call()
	within, cancel := context.WithDeadline(ctx, call.Due)
	defer cancel()
	if f.Bare {
		failed := l.service.Work(within, call) != nil
		l.used.Store(int64(processorTime())) // the run has not begun
		if failed {
			return wordLate
		}
		return wordServed
	}
	switch admitted, inTime := l.serve(within, call); {
	case !admitted:
		return wordRefused
	case !inTime || time.Now().After(call.Due):
		return wordLate
	}
	return wordServed
}
