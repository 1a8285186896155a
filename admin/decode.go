package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/plimsoll-go/plimsoll/control"
)

// maxBody bounds a request's body, in bytes.
const maxBody = 64 << 10

// decode reads a body into a value, strictly: no unknown keys, none twice,
// whatever their case, and nothing after the value. It answers what is wrong.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		problem(w, http.StatusUnsupportedMediaType, "media-type", "")
		return false
	}
	if r.Header.Get("Content-Encoding") != "" {
		problem(w, http.StatusUnsupportedMediaType, "media-type", "a body must not be compressed")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if isA[*http.MaxBytesError](err) {
			problem(w, http.StatusRequestEntityTooLarge, "too-large", fmt.Sprintf("%d bytes are allowed", maxBody))
			return false
		}
		problem(w, http.StatusBadRequest, "invalid", "the body did not arrive")
		return false
	}
	if err := strictly(body, into); err != nil {
		answerProblem(w, &Problem{Status: http.StatusUnprocessableEntity, Type: "invalid", Faults: []control.Fault{*err}})
		return false
	}
	return true
}

// strictly decodes one value.
func strictly(body []byte, into any) *control.Fault {
	if fault := twice(json.NewDecoder(bytes.NewReader(body)), ""); fault != nil {
		return fault
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return &control.Fault{Path: e.Field, Problem: fmt.Sprintf("must be a %s, got a %s", e.Type, e.Value)}
		}
		return &control.Fault{Problem: strings.TrimPrefix(err.Error(), "json: ")}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &control.Fault{Problem: "something follows the value"}
	}
	return nil
}

// twice finds a key that an object has twice, whatever its case: decoders
// differ in which of them they take.
func twice(d *json.Decoder, path string) *control.Fault {
	token, err := d.Token()
	if err != nil {
		return nil // said by the decoder proper
	}
	switch token {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil
			}
			name, _ := key.(string)
			folded, at := strings.ToLower(name), strings.TrimPrefix(path+"."+name, ".")
			if seen[folded] {
				return &control.Fault{Path: at, Problem: "is there twice"}
			}
			seen[folded] = true
			if fault := twice(d, at); fault != nil {
				return fault
			}
		}
		_, _ = d.Token()
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if fault := twice(d, fmt.Sprintf("%s[%d]", path, i)); fault != nil {
				return fault
			}
		}
		_, _ = d.Token()
	}
	return nil
}
