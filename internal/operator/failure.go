package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/plimsoll-go/plimsoll/admin"
)

// Kind is how a call came to nothing. The zero Kind is No.
type Kind uint8

// The kinds.
const (
	No          Kind = iota // it could not be done, or the answer is no
	WrongCall               // the call is not right, and will never be
	Unreachable             // nobody answered, or the process cannot reach its storage: nothing was changed
	NotAllowed              // who asks is not known, or may not
	Conflict                // something else was changed meanwhile: look, and decide again
	Unknown                 // whether the change was made is not known: repeat it with Key
)

// ExitCode is the command's exit code for the kind: 1 … 6.
func (k Kind) ExitCode() int { return int(k) + 1 }

// Failure is why a call came to nothing, as one sentence.
type Failure struct {
	Kind     Kind
	Sentence string
	Key      string // Unknown: what repeats the change without making it twice
}

// Error is the sentence.
func (f *Failure) Error() string { return f.Sentence }

func wrong(format string, args ...any) *Failure {
	return &Failure{Kind: WrongCall, Sentence: fmt.Sprintf(format, args...)}
}

// kinds are those of the answers' statuses; others are No.
var kinds = map[int]Kind{
	http.StatusBadRequest: WrongCall, http.StatusUnprocessableEntity: WrongCall, http.StatusRequestEntityTooLarge: WrongCall,
	http.StatusUnsupportedMediaType: WrongCall, http.StatusMethodNotAllowed: WrongCall,
	http.StatusUnauthorized: NotAllowed, http.StatusForbidden: NotAllowed, http.StatusTooManyRequests: NotAllowed, http.StatusMisdirectedRequest: NotAllowed,
	http.StatusConflict: Conflict, http.StatusPreconditionFailed: Conflict, http.StatusPreconditionRequired: Conflict,
	http.StatusServiceUnavailable: Unreachable, http.StatusBadGateway: Unreachable,
	http.StatusGatewayTimeout: Unknown,
}

// refused makes one sentence of an answer that is no.
func (c *Client) refused(q *call, response *http.Response, body []byte) error {
	f := &Failure{Kind: kinds[response.StatusCode]}
	var p admin.Problem
	if json.Unmarshal(body, &p) != nil || p.Title == "" {
		f.Sentence = fmt.Sprintf("%s answers %s to %s %s", c.config.Address, response.Status, q.method, q.path)
		if f.Kind == Unknown {
			f.Key = q.key
		}
		return f
	}
	f.Sentence = sentence(&p)
	switch {
	case f.Kind == Unknown:
		f.Key = q.key
	case response.StatusCode == http.StatusUnauthorized && c.config.Token == "":
		f.Sentence = "a token is needed: give --token-file or PLIMSOLL_TOKEN; the first start of a process prints one, and stores it for its own user"
	case response.StatusCode == http.StatusTooManyRequests:
		f.Sentence += ", try again in " + response.Header.Get("Retry-After") + " s"
	}
	return f
}

// sentence is a problem in words.
func sentence(p *admin.Problem) string {
	if len(p.Faults) > 0 {
		faults := make([]string, len(p.Faults))
		for i, f := range p.Faults {
			faults[i] = strings.TrimPrefix(f.Path+": "+f.Problem, ": ")
		}
		return Clean(p.Title + ": " + strings.Join(faults, "; "))
	}
	detail := strings.TrimPrefix(p.Detail, "control: ")
	switch {
	case detail == "":
		return Clean(p.Title)
	case p.Type == "urn:plimsoll:problem:stale":
		return Clean("somebody changed the overrides meanwhile (" + detail + "): look at plimsoll overrides, and decide again")
	}
	return Clean(p.Title + ": " + detail)
}
