package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Bounds on streams of events.
const (
	maxStreams = 64
	streamTick = time.Second
	// streamPatience is how long a client may take none of what is sent to it:
	// then it is let go, and resumes where it was.
	streamPatience = 5 * time.Second
	streamRetry    = 2 * time.Second
	streamLife     = time.Hour
)

// streams are the places of those who listen, in the whole process.
var streams = make(chan struct{}, maxStreams)

// events streams the live state: each change of the overrides as it comes, and
// each second what Live tells. Its ids are revisions of the overrides, so who
// resumes is told again only what changed meanwhile.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	select {
	case streams <- struct{}{}:
		defer func() { <-streams }()
	default:
		later(w, streamTick)
		problem(w, http.StatusServiceUnavailable, "busy", fmt.Sprintf("%d are allowed", maxStreams))
		return
	}
	changes, cancel := a.Control.Subscribe()
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	s := &stream{w: w, control: http.NewResponseController(w), seen: r.Header.Get("Last-Event-ID")}
	s.write("retry: " + strconv.FormatInt(streamRetry.Milliseconds(), 10) + "\n\n")
	a.tell(s)
	tick := time.NewTicker(streamTick)
	defer tick.Stop()
	end := time.NewTimer(streamLife)
	defer end.Stop()
	for s.err == nil {
		select {
		case <-changes:
			a.tell(s)
		case <-tick.C:
			a.live(s)
		case <-end.C:
			return // the client comes back, and shows its token again
		case <-r.Context().Done():
			return
		}
	}
}

// tell sends the overrides, unless the client has seen them.
func (a *API) tell(s *stream) {
	state := a.Control.State()
	id := etag(&state.Document)
	id = id[1:len(id)-1] + "/" + strconv.FormatUint(state.Local.Version, 10)
	if id == s.seen {
		return
	}
	s.seen = id
	s.event("overrides", id, listed(&state))
}

// live sends what changes all the time, or a comment that keeps the connection.
func (a *API) live(s *stream) {
	if a.Live == nil {
		s.write(": alive\n\n")
		return
	}
	s.event("live", "", a.Live())
}

// stream is one client's stream of events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	seen    string
	err     error
}

func (s *stream) event(name, id string, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		s.err = err
		return
	}
	text := "event: " + name + "\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	s.write(text + "data: " + string(data) + "\n\n")
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	if s.err = s.control.SetWriteDeadline(time.Now().Add(streamPatience)); s.err != nil {
		return
	}
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.control.Flush()
	}
}
