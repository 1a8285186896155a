package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/plimsoll-go/plimsoll/admin"
)

// Event is one of the stream of a process's live state: what changed of the
// overrides, or the state of a second. One of the two is nil.
type Event struct {
	Overrides *admin.Overrides
	Live      *admin.Status
}

// maxLine bounds a line of the stream, in bytes.
const maxLine = 8 << 20

// Events calls a function with each event, until it returns false, the context
// ends (nil), or the stream does (a *Failure).
func (c *Client) Events(ctx context.Context, each func(*Event) bool) error {
	response, err := c.send(ctx, &call{method: http.MethodGet, path: "/v1/events"})
	if err != nil {
		return orEnded(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return c.refused(&call{method: http.MethodGet, path: "/v1/events"}, response, body)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxLine)
	name := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			e, err := parse(name, value)
			if err != nil || e != nil && !each(e) {
				return err
			}
		}
	}
	err = lines.Err()
	if err == nil {
		err = errors.New("the stream ended")
	}
	return orEnded(ctx, c.unanswered(&call{}, err))
}

// orEnded is no fault where the caller itself ended the stream.
func orEnded(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// parse reads an event; those of a later version are nil.
func parse(name, data string) (e *Event, err error) {
	switch name {
	case "overrides":
		e = &Event{Overrides: new(admin.Overrides)}
		err = json.Unmarshal([]byte(data), e.Overrides)
	case "live":
		e = &Event{Live: new(admin.Status)}
		err = json.Unmarshal([]byte(data), e.Live)
	}
	if err != nil {
		return nil, &Failure{Sentence: "the stream holds what is no state: " + err.Error()}
	}
	return e, nil
}
