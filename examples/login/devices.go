package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// What the limits go by. A client cannot send these: they are overwritten.
const (
	visitorHeader = "Login-Visitor"
	accountHeader = "Login-Account"
	deviceHeader  = "Login-Device"
	stranger      = "stranger"
	acquainted    = "acquainted"
)

// cookieName is the cookie of a browser that has logged in. It opens nothing:
// it only says that whoever sends it knew the password once.
const cookieName = "device"

// maxForm bounds what is read of a request before its limits are asked.
const maxForm = 4 << 10

// devices makes and verifies the cookies. They are signed, not stored.
type devices struct{ secret []byte }

// tell writes into the request's headers which account it names, and whether
// its browser has logged in to that account before. It leaves the body to be
// read again.
func (d devices) tell(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
		if err != nil {
			http.Error(w, "the form is too long", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, err := url.ParseQuery(string(body))
		account := plain(form.Get("account"))
		if err != nil || account == "" {
			http.Error(w, "an account is needed", http.StatusBadRequest)
			return
		}
		r.Header.Set(accountHeader, account)
		r.Header.Set(visitorHeader, stranger)
		r.Header.Del(deviceHeader)
		if cookie, err := r.Cookie(cookieName); err == nil && d.knows(cookie.Value, account) {
			r.Header.Set(visitorHeader, acquainted)
			r.Header.Set(deviceHeader, cookie.Value)
		}
		next.ServeHTTP(w, r)
	})
}

// plain is an account's one spelling: Alice and " alice" are no accounts of
// their own, or each spelling would have guesses of its own.
func plain(account string) string { return strings.ToLower(strings.TrimSpace(account)) }

// remember gives the browser a cookie for this account.
func (d devices) remember(w http.ResponseWriter, account string) {
	id := rand.Text()
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: id + "." + d.sign(id, account), Path: "/login",
		MaxAge: 90 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteStrictMode, // and Secure, behind TLS
	})
}

// knows reports whether a cookie was given for this account.
func (d devices) knows(cookie, account string) bool {
	id, signature, _ := strings.Cut(cookie, ".")
	return hmac.Equal([]byte(signature), []byte(d.sign(id, account)))
}

func (d devices) sign(id, account string) string {
	mac := hmac.New(sha256.New, d.secret)
	io.WriteString(mac, id+"."+account) // an id has no dot
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
