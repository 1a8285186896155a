package admin

import (
	_ "embed"
	"net/http"
)

// document describes the API; a test holds it against the handlers.
//
//go:embed openapi.json
var document []byte

func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}
