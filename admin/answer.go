package admin

import (
	"encoding/json"
	"net/http"
)

// answer writes a value as JSON.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	to := json.NewEncoder(w)
	to.SetIndent("", "  ")
	_ = to.Encode(body) // an error here is the client's connection
}
