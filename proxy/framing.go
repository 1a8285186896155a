package proxy

import "bytes"

// framing follows the requests on a connection of HTTP/1 and finds the ones
// whose end two readers could see at different places. It is a function of the
// bytes alone: no lock, no I/O.
//
// net/http drops the Content-Length of a request that has a Transfer-Encoding
// too, before a handler could see it, so this is looked at on the raw bytes.
// Framing is stricter than net/http, and where it finds no fault both agree
// about where every request ends: a fuzz test holds them to it.
type framing struct {
	state framingState
	fault error  // of the message that is being read; told at the end of its header
	left  uint64 // bytes of the body, or of the chunk, that are still to come
	line  []byte // the start of a line whose end has not been read

	lengths    int // lines of Content-Length in this header
	coding     codingState
	old        bool // not HTTP/1.1
	preface    bool // the request line is that of HTTP/2's preface
	fields     int  // header lines of this message
	messages   int  // headers that were read to their end
	allowHTTP2 bool // a preface opens a connection of HTTP/2
}

type framingState uint8

const (
	inRequestLine framingState = iota
	inHeader
	inBody
	inChunkSize
	inChunk
	inChunkEnd
	inTrailer
	inTunnel  // not HTTP/1 any more: nothing is looked at
	atRefused // net/http refuses the last header by itself: nothing comes after it
)

type codingState uint8

const (
	codingNone codingState = iota
	codingChunked
	codingOther
)

// framingFault is why nobody can be sure where a request ends.
type framingFault string

// Error implements error.
func (f framingFault) Error() string { return "proxy: " + string(f) }

const (
	errTwoLengths framingFault = "Content-Length beside Transfer-Encoding"
	errRepeated   framingFault = "Content-Length or Transfer-Encoding repeated"
	errLength     framingFault = "Content-Length is not a number"
	errCoding     framingFault = "unknown Transfer-Encoding"
	errOldCoding  framingFault = "Transfer-Encoding outside HTTP/1.1"
	errFolded     framingFault = "folded header line"
	errBareLF     framingFault = "line ends without a carriage return"
	errChunk      framingFault = "malformed chunk"
)

// inMessage says that the header of a request has ended and its body has not.
func (f *framing) inMessage() bool { return f.state >= inBody && f.state <= inTrailer }

// scan reads the next bytes. It returns how many of them come before a fault,
// all of them if there is none.
func (f *framing) scan(p []byte) (int, error) {
	for at := 0; at < len(p); {
		n, err := f.step(p[at:])
		if err != nil {
			return at, err
		}
		at += n
	}
	return len(p), nil
}

// step reads one line or one run of body bytes.
func (f *framing) step(p []byte) (int, error) {
	switch f.state {
	case inTunnel:
		return len(p), nil
	case atRefused:
		return 0, errCoding
	case inBody, inChunk:
		return f.skip(p), nil
	default:
		return f.stepLine(p)
	}
}

func (f *framing) skip(p []byte) int {
	n := min(f.left, uint64(len(p)))
	if f.left -= n; f.left == 0 {
		if f.state == inBody {
			f.next()
		} else {
			f.state = inChunkEnd
		}
	}
	return int(n)
}

func (f *framing) stepLine(p []byte) (int, error) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		f.line = append(f.line, p...)
		return len(p), nil
	}
	line := p[:end]
	if len(f.line) > 0 {
		line = append(f.line, line...)
		f.line = nil
	}
	bare := len(line) == 0 || line[len(line)-1] != '\r'
	if !bare {
		line = line[:len(line)-1]
	}
	if err := f.take(line, bare); err != nil {
		return 0, err
	}
	return end + 1, nil
}

// take reads one whole line, without its end.
func (f *framing) take(line []byte, bare bool) error {
	switch f.state {
	case inRequestLine:
		f.requestLine(line, bare)
	case inHeader:
		if len(line) == 0 {
			return f.endHeader(bare)
		}
		f.headerLine(line, bare)
	case inTrailer:
		return f.trailerLine(line, bare)
	default:
		return f.chunkLine(line, bare)
	}
	return nil
}

func (f *framing) requestLine(line []byte, bare bool) {
	if len(line) == 0 && !bare {
		return // net/http forgives an empty line here after a POST, and refuses it else
	}
	f.note(bare, errBareLF)
	f.note(bytes.IndexByte(line, '\r') >= 0, errBareLF)
	f.old = !bytes.HasSuffix(line, []byte("HTTP/1.1"))
	f.preface = string(line) == "PRI * HTTP/2.0"
	f.state = inHeader
}

func (f *framing) headerLine(line []byte, bare bool) {
	f.fields++
	f.note(bare, errBareLF)
	switch line[0] {
	case ' ', '\t':
		f.note(true, errFolded)
	case 'c', 'C':
		if value, ok := fieldValue(line, "content-length"); ok {
			f.contentLength(value)
		}
	case 't', 'T':
		if value, ok := fieldValue(line, "transfer-encoding"); ok {
			f.transferEncoding(value)
		}
	}
}

// fieldValue returns the value of a header line if it has this name.
func fieldValue(line []byte, lowerName string) ([]byte, bool) {
	n := len(lowerName)
	if len(line) <= n || line[n] != ':' || !equalFold(line[:n], lowerName) {
		return nil, false
	}
	return bytes.Trim(line[n+1:], " \t"), true
}

// equalFold compares with a word of lower-case letters and dashes.
func equalFold(word []byte, lower string) bool {
	if len(word) != len(lower) {
		return false
	}
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func (f *framing) contentLength(value []byte) {
	f.lengths++
	f.note(f.lengths > 1, errRepeated)
	f.note(len(value) == 0 || len(value) > 18, errLength)
	f.left = 0
	for _, c := range value {
		f.note(c < '0' || c > '9', errLength)
		f.left = f.left*10 + uint64(c-'0')
	}
}

func (f *framing) transferEncoding(value []byte) {
	f.note(f.coding != codingNone, errRepeated)
	f.coding = codingOther
	if equalFold(value, "chunked") {
		f.coding = codingChunked
	}
}

// note remembers the first fault of a message.
func (f *framing) note(is bool, fault error) {
	if is && f.fault == nil {
		f.fault = fault
	}
}

// endHeader decides where the message ends.
func (f *framing) endHeader(bare bool) error {
	f.note(bare, errBareLF)
	f.note(f.coding != codingNone && f.lengths > 0, errTwoLengths)
	f.note(f.coding != codingNone && f.old, errOldCoding)
	if f.fault != nil {
		return f.fault
	}
	f.messages++
	switch {
	case f.preface && f.fields == 0 && f.allowHTTP2 && f.messages == 1:
		f.state = inTunnel
	case f.coding == codingOther:
		f.state = atRefused
	case f.coding == codingChunked:
		f.state = inChunkSize
	case f.left > 0:
		f.state = inBody
	default:
		f.next()
	}
	return nil
}

// next awaits another request.
func (f *framing) next() {
	f.state = inRequestLine
	f.left, f.lengths, f.coding, f.fields = 0, 0, codingNone, 0
}

func (f *framing) chunkLine(line []byte, bare bool) error {
	switch {
	case bare:
		return errBareLF
	case f.state == inChunkSize:
		return f.chunkSize(line)
	case len(line) > 0:
		return errChunk // data is longer than its chunk
	}
	f.state = inChunkSize
	return nil
}

// chunkSize reads a size in hexadecimal digits and skips extensions.
func (f *framing) chunkSize(line []byte) error {
	var size uint64
	digits := 0
	for ; digits < len(line); digits++ {
		d, ok := hexDigit(line[digits])
		if !ok {
			break
		}
		size = size<<4 | d
	}
	rest := bytes.TrimLeft(line[digits:], " \t")
	if digits == 0 || digits > 15 || (len(rest) > 0 && rest[0] != ';') || bytes.IndexByte(rest, '\r') >= 0 {
		return errChunk
	}
	f.left, f.state = size, inChunk
	if size == 0 {
		f.state = inTrailer
	}
	return nil
}

func hexDigit(c byte) (uint64, bool) {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0'), true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10, true
	}
	return 0, false
}

func (f *framing) trailerLine(line []byte, bare bool) error {
	switch {
	case bare:
		return errBareLF
	case len(line) == 0:
		f.next()
	case line[0] == ' ' || line[0] == '\t':
		return errFolded
	}
	return nil
}
