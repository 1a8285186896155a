package torture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// hijacks has connections taken over, one of which its client cuts off. While
// they live they count.
func hijacks(s *Subject) error {
	return on(s, Options{Room: some}, func(r *rack) error {
		r.does(echo)
		server := httptest.NewServer(r.handler)
		defer server.Close()
		var open []net.Conn
		for range 2 {
			conn, err := upgrade(server.Listener.Addr().String())
			if err != nil {
				return err
			}
			defer conn.Close()
			open = append(open, conn)
		}
		if got := r.Running(); got != len(open) {
			return fmt.Errorf("%d connections are open, and %d in flight", len(open), got)
		}
		for _, conn := range open {
			conn.Close()
		}
		return nil
	})
}

// echo takes the connection over and sends back what comes.
func echo(w http.ResponseWriter, _ *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(conn, buffered) // ends with the client
}

// upgrade connects and sees that what it sends comes back.
func upgrade(address string) (net.Conn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(2 * enough))
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return conn, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		return conn, fmt.Errorf("a connection cannot be taken over: %s", response.Status)
	}
	io.WriteString(conn, "hello\n")
	if line, err := reader.ReadString('\n'); line != "hello\n" {
		return conn, errors.Join(fmt.Errorf("a connection that was taken over sent back %q", line), err)
	}
	return conn, nil
}

// streams has a handler send events one by one.
func streams(s *Subject) error {
	const events = 10_000
	return on(s, Options{Room: some}, func(r *rack) error {
		r.does(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			out := http.NewResponseController(w)
			for range events {
				io.WriteString(w, "data: x\n\n")
				if out.Flush() != nil {
					return
				}
			}
		})
		server := httptest.NewServer(r.handler)
		defer server.Close()
		defer server.Client().CloseIdleConnections()
		response, err := server.Client().Get(server.URL)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if n := strings.Count(string(body), "data:"); n != events {
			return errors.Join(fmt.Errorf("%d of %d events came through", n, events), err)
		}
		return err
	})
}
