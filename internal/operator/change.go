package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
)

// Ask is what a responder wants of an override that does not exist yet.
type Ask struct {
	What      control.Kind    `json:"what"`
	Scope     control.Scope   `json:"scope"`
	Set       control.Setting `json:"set,omitzero"`
	Value     float64         `json:"value,omitzero"`
	Rate      string          `json:"rate,omitzero"`
	Percent   int             `json:"percent,omitzero"`
	DryRun    bool            `json:"dry_run,omitzero"`
	LocalOnly bool            `json:"local_only,omitzero"`
	Incident  string          `json:"incident,omitzero"`
	Reason    string          `json:"reason"`
	Seconds   int64           `json:"ttl_seconds"`
}

// About is a change to what there is.
type About struct {
	Action    control.Action `json:"-"`                    // Extend, Revoke, Approve or Undo
	ID        string         `json:"-"`                    // of the override; not of an undo
	Seq       uint64         `json:"seq,omitzero"`         // of the record; undo
	Seconds   int64          `json:"ttl_seconds,omitzero"` // extend
	Reason    string         `json:"reason,omitzero"`
	LocalOnly bool           `json:"local_only,omitzero"` // of this worker's own overrides
}

// Overrides are those that the process knows of.
func (c *Client) Overrides(ctx context.Context) (o admin.Overrides, body []byte, err error) {
	body, err = c.Get(ctx, "/v1/overrides", &o)
	return o, body, err
}

// Preview says what an override would do, and makes nothing.
func (c *Client) Preview(ctx context.Context, ask *Ask) (p control.Preview, body []byte, err error) {
	body, err = c.Post(ctx, "/v1/preview", ask, &p)
	return p, body, err
}

// Key makes the idempotency key of a change that is made on the document of a
// tag. It holds the tag: whoever repeats the change needs no more than the key.
func Key(tag string) string { return strings.Trim(tag, `"`) + "." + rand.Text()[:16] }

// tagOf is the tag that a key holds.
func tagOf(key string) (string, error) {
	tag, _, ok := strings.Cut(key, ".")
	if !ok || !strings.Contains(tag, "-") {
		return "", wrong("%q is no key of a change: it is printed when it is not known what became of one", key)
	}
	return `"` + tag + `"`, nil
}

// Create makes an override, on the document that the key names.
func (c *Client) Create(ctx context.Context, ask *Ask, key string) (control.Result, []byte, error) {
	return c.change(ctx, &call{method: http.MethodPost, path: "/v1/overrides", body: ask, key: key})
}

// Change changes what there is, on the document that the key names.
func (c *Client) Change(ctx context.Context, about *About, key string) (control.Result, []byte, error) {
	at := "/v1/overrides/" + url.PathEscape(about.ID)
	q := &call{method: http.MethodPost, path: at, body: about, key: key}
	switch about.Action {
	case control.Revoke:
		q.method = http.MethodDelete
	case control.Undo:
		q.path = "/v1/undo"
	default:
		q.path += "/" + string(about.Action)
	}
	return c.change(ctx, q)
}

// pause is how long a change waits before it is repeated.
const pause = 200 * time.Millisecond

// change sends a change; and once more, with the same key, when it is not known
// what became of it.
func (c *Client) change(ctx context.Context, q *call) (res control.Result, body []byte, err error) {
	if q.match, err = tagOf(q.key); err != nil {
		return res, nil, err
	}
	body, err = c.do(ctx, q, &res)
	if f, ok := errors.AsType[*Failure](err); !ok || f.Kind != Unknown {
		return res, body, err
	}
	unknown := err
	select {
	case <-ctx.Done():
		return res, nil, unknown
	case <-time.After(pause):
	}
	body, err = c.do(ctx, q, &res)
	if f, ok := errors.AsType[*Failure](err); ok && f.Kind == Unreachable {
		return res, nil, unknown // of the first attempt nothing more is known
	}
	return res, body, err
}
