package config

import "testing"

func TestSuggest(t *testing.T) {
	known := []string{"listen", "upstream", "rate", "burst", "max_in_flight", "mode", "on_fault", "shadow", "enforce", "off"}
	for word, want := range map[string]string{
		"lisen": "listen", "listne": "listen", "Listen": "listen", "upsteam": "upstream", "rat": "rate", "rates": "rate",
		"maxInFlight": "max_in_flight", "max-in-flight": "max_in_flight", "enfroce": "enforce", "onfault": "on_fault",
		"": "", "colour": "", "x": "", "no": "", "bus": "", "offline": "off",
	} {
		if got := suggest(word, known); got != want {
			t.Errorf("suggest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"ü", "u", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
