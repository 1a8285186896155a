package service

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// testModeHeader marks requests of developers who try out the API.
const testModeHeader = "X-Mode"

// maxBody bounds what a client may send.
const maxBody = 64 << 10

// charge is the money of a request and of its answer.
type charge struct {
	ID       string `json:"id,omitempty"`
	Amount   int64  `json:"amount"` // in the currency's smallest unit, 1 … 99,999,999
	Currency string `json:"currency"`
	Live     bool   `json:"livemode"`
	Status   string `json:"status,omitempty"`
}

func (s *Service) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/charges", s.write("ch_"))
	mux.HandleFunc("POST /v1/refunds", s.write("re_"))
	mux.HandleFunc("GET /v1/charges/{id}", s.read)
	mux.HandleFunc("GET /v1/balance", s.read)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	return mux
}

// write creates a charge or a refund, told apart by the prefix of its id.
func (s *Service) write(prefix string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := parse(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if s.query() != nil {
			http.Error(w, "closing", http.StatusServiceUnavailable)
			return
		}
		c.ID, c.Live, c.Status = prefix+r.Header.Get("Idempotency-Key"), live(r), "succeeded"
		answer(w, http.StatusCreated, c)
	}
}

func (s *Service) read(w http.ResponseWriter, r *http.Request) {
	if s.query() != nil {
		http.Error(w, "closing", http.StatusServiceUnavailable)
		return
	}
	answer(w, http.StatusOK, charge{ID: r.PathValue("id"), Amount: 4200, Currency: "eur", Live: live(r), Status: "succeeded"})
}

func parse(body io.Reader) (c charge, err error) {
	if err := json.NewDecoder(body).Decode(&c); err != nil {
		return c, errors.New("the body must be a JSON object with amount and currency")
	}
	if c.Amount < 1 || c.Amount > 99_999_999 {
		return c, errors.New("amount must be 1 to 99999999")
	}
	if len(c.Currency) != 3 {
		return c, errors.New("currency must be a code of three letters")
	}
	return c, nil
}

func live(r *http.Request) bool { return !strings.EqualFold(r.Header.Get(testModeHeader), "test") }

func answer(w http.ResponseWriter, status int, c charge) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(c) // the client may have left
}
