package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// smuggling holds streams in which two readers could see different requests,
// each with what must come of the first request.
var smuggling = []struct {
	name, stream string
	fault        error // nil: net/http refuses it by itself, or it is harmless
}{
	{"length beside chunked", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 44\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\nX: y\r\n\r\n", errTwoLengths},
	{"chunked beside length", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", errTwoLengths},
	{"length beside another coding", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: gzip\r\n\r\nabcd", errTwoLengths},
	{"names in odd case", "POST / HTTP/1.1\r\nHost: x\r\ncOnTENT-lENGTH: 4\r\ntRANSFER-eNCODING: CHUNKED\r\n\r\n0\r\n\r\n", errTwoLengths},
	{"length of nothing beside chunked", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errTwoLengths},
	{"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errOldCoding},
	{"two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", errRepeated},
	{"the same length twice", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", errRepeated},
	{"two codings", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", errRepeated},
	{"signed length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +4\r\n\r\nabcd", errLength},
	{"list of lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4, 4\r\n\r\nabcd", errLength},
	{"length in hexadecimal", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x4\r\n\r\nabcd", errLength},
	{"empty length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", errLength},
	{"length too long", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551620\r\n\r\nabcd", errLength},
	{"folded coding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", errFolded},
	{"folded host", "GET / HTTP/1.1\r\nHost: x\r\n\ty\r\n\r\n", errFolded},
	{"coding behind a bare LF", "POST / HTTP/1.1\r\nHost: x\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errBareLF},
	{"request behind bare LFs", "GET / HTTP/1.1\r\nHost: x\r\nX: y\n\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n", errBareLF},
	{"bare LF after the request line", "GET / HTTP/1.1\nHost: x\r\n\r\n", errBareLF},
	{"chunk with a bare LF", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\nabcde\r\n0\r\n\r\n", errBareLF},
	{"chunk of no size", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\r\nabcde", errChunk},
	{"chunk of negative size", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabcde\r\n0\r\n\r\n", errChunk},
	{"chunk size of C", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n", errChunk},
	{"chunk size that overflows", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000005\r\nabcde\r\n0\r\n\r\n", errChunk},
	{"chunk longer than it says", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n", errChunk},
	{"folded trailer", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n z\r\n\r\n", errFolded},
	{"trailer with a bare LF", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\r\n\r\n", errBareLF},
	{"coding of another name", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", nil},
	{"space before the colon", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", nil},
	{"coding with a vertical tab", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", nil},
	{"two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", nil},
	{"no host", "GET / HTTP/1.1\r\n\r\n", nil},
	{"NUL in a name", "GET / HTTP/1.1\r\nHost: x\r\nA\x00b: y\r\n\r\n", nil},
	{"CR in a value", "GET / HTTP/1.1\r\nHost: x\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n", nil},
}

func TestFramingFaults(t *testing.T) {
	for _, tc := range smuggling {
		t.Run(tc.name, func(t *testing.T) {
			var f framing
			if _, err := f.scan([]byte(tc.stream)); err != tc.fault && tc.fault != nil {
				t.Errorf("fault %v, want %v", err, tc.fault)
			}
		})
	}
}

func TestFramingHarmless(t *testing.T) {
	for name, stream := range map[string]string{
		"plain":               "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
		"length":              "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcdGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"two lengths":         "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcdPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
		"chunked":             "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n01a ;x=\"y\"\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"trailer":             "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\nTrailer: X\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"empty line before":   "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"HTTP/1.0":            "POST / HTTP/1.0\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\naGET / HTTP/1.0\r\n\r\n",
		"body like a request": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 57\r\n\r\nA\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n\n\n\n\n\n\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var f framing
			n, err := f.scan([]byte(stream))
			if err != nil || n != len(stream) || f.messages != 2 || f.state != inRequestLine {
				t.Errorf("read %d of %d bytes, %d messages, state %d: %v", n, len(stream), f.messages, f.state, err)
			}
		})
	}
}

// However a stream is cut into reads, the same is found in it.
func TestFramingDoesNotDependOnReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte(streams().Draw(t, "stream"))
		var whole framing
		want, wantErr := whole.scan(stream)
		var cut framing
		got := 0
		var err error
		for got < len(stream) && err == nil {
			size := rapid.IntRange(1, len(stream)-got).Draw(t, "size")
			var n int
			if n, err = cut.scan(stream[got : got+size]); err == nil && n != size {
				t.Fatalf("read %d of %d bytes without a fault", n, size)
			}
			got += n
		}
		if err != wantErr || cut.messages != whole.messages {
			t.Fatalf("in pieces: %v and %d messages; at once: %v and %d", err, cut.messages, wantErr, whole.messages)
		}
		if err == nil && (got != want || cut.state != whole.state || cut.left != whole.left) {
			t.Fatalf("in pieces: state %d left %d; at once: state %d left %d", cut.state, cut.left, whole.state, whole.left)
		}
	})
}

// streams draws requests that are often nearly right.
func streams() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "requests") {
			b.WriteString(rapid.SampledFrom([]string{"GET / HTTP/1.1", "POST / HTTP/1.1", "POST / HTTP/1.0", "\r\nGET / HTTP/1.1", "PRI * HTTP/2.0", "CONNECT x HTTP/1.1"}).Draw(t, "line"))
			b.WriteString(lineEnd(t))
			for range rapid.IntRange(0, 4).Draw(t, "fields") {
				b.WriteString(rapid.SampledFrom([]string{
					"Host: x", "Content-Length: 3", "Content-Length: 0", "content-length:  5 ", "Content-Length : 3", "Transfer-Encoding: chunked",
					"transfer-encoding:chunked\t", "Transfer-Encoding: gzip", "Trailer: X", " folded", "X: y", "X", ": y", "\r",
				}).Draw(t, "field"))
				b.WriteString(lineEnd(t))
			}
			b.WriteString(lineEnd(t))
			for range rapid.IntRange(0, 4).Draw(t, "parts") {
				b.WriteString(rapid.SampledFrom([]string{"abc", "abcde", "3\r\nabc\r\n", "0\r\n\r\n", "0\r\n", "X: y\r\n", "\r\n", "\n", "5;e\r\nabcde\r\n", "a\r\n"}).Draw(t, "part"))
			}
		}
		return b.String()
	})
}

func lineEnd(t *rapid.T) string {
	if rapid.IntRange(0, 15).Draw(t, "end") == 0 {
		return "\n"
	}
	return "\r\n"
}

// ends are the offsets at which a header and its message end; -1: never.
type ends struct{ header, message int }

// byFraming reads a stream byte by byte, and returns what it lets through.
func byFraming(stream []byte) (found []ends, passed []byte, faulty bool) {
	var f framing
	for at := range stream {
		before := f.messages
		if _, err := f.scan(stream[at : at+1]); err != nil {
			return found, append(bytes.Clone(stream[:at]), poison...), true
		}
		if f.messages > before {
			found = append(found, ends{at + 1, -1})
		}
		if last := len(found) - 1; last >= 0 && found[last].message < 0 && f.state == inRequestLine {
			found[last].message = at + 1
		}
	}
	return found, stream, false
}

// byNetHTTP reads a stream as net/http's server does.
func byNetHTTP(stream []byte) []ends {
	source := bytes.NewReader(stream)
	r := bufio.NewReader(source)
	offset := func() int { return len(stream) - source.Len() - r.Buffered() }
	var found []ends
	for last := ""; ; {
		if last == "POST" {
			for range 4 {
				if c, err := r.Peek(1); err == nil && (c[0] == '\r' || c[0] == '\n') {
					_, _ = r.Discard(1)
				}
			}
		}
		request, err := http.ReadRequest(r)
		if err != nil {
			return found
		}
		last = request.Method
		found = append(found, ends{offset(), -1})
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return found
		}
		found[len(found)-1].message = offset()
		if request.Close {
			return found
		}
	}
}

var bothFields = regexp.MustCompile(`(?is)\ncontent-length:.*\ntransfer-encoding:|\ntransfer-encoding:.*\ncontent-length:`)

// checkAgreement: for a request that passes framing net/http sees the same ends.
func checkAgreement(t interface{ Fatalf(string, ...any) }, stream []byte) {
	ours, passed, faulty := byFraming(stream)
	theirs := byNetHTTP(passed)
	if len(theirs) > len(ours) {
		t.Fatalf("net/http sees %d requests, framing %d, in %q", len(theirs), len(ours), stream)
	}
	if last := len(ours) - 1; faulty && last >= 0 && last < len(theirs) && ours[last].message < 0 && theirs[last].message >= 0 {
		t.Fatalf("net/http takes the broken body of request %d for whole, in %q", last, stream)
	}
	for i := range min(len(ours), len(theirs)) {
		if ours[i].header != theirs[i].header {
			t.Fatalf("header %d ends at %d, for net/http at %d, in %q", i, ours[i].header, theirs[i].header, stream)
		}
		if ours[i].message >= 0 && theirs[i].message >= 0 && ours[i].message != theirs[i].message {
			t.Fatalf("message %d ends at %d, for net/http at %d, in %q", i, ours[i].message, theirs[i].message, stream)
		}
		start := 0
		if i > 0 {
			start = max(ours[i-1].message, 0)
		}
		if header := stream[start:ours[i].header]; bothFields.Match(header) {
			t.Fatalf("two lengths passed in %q", header)
		}
		if theirs[i].message < 0 || ours[i].message < 0 {
			return
		}
	}
}

func TestFramingAgreesWithNetHTTP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkAgreement(t, []byte(streams().Draw(t, "stream"))) })
}

const ordinary = "POST /v1/things HTTP/1.1\r\nHost: api.example\r\nUser-Agent: x/1\r\nAccept: application/json\r\nAuthorization: Bearer 0123456789\r\n" +
	"Content-Type: application/json\r\nContent-Length: 4\r\nTraceparent: 00-0-0-01\r\n\r\nbody"

func TestFramingAllocatesNothing(t *testing.T) {
	var f framing
	text := []byte(ordinary)
	if n := testing.AllocsPerRun(100, func() { _, _ = f.scan(text) }); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkFraming(b *testing.B) {
	var f framing
	text := []byte(ordinary)
	for b.Loop() {
		if _, err := f.scan(text); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzFraming(f *testing.F) {
	for _, tc := range smuggling {
		f.Add([]byte(tc.stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) { checkAgreement(t, stream) })
}
