package process

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/proxy"
)

// Each setting of the file reaches the proxy or the server: changing any leaf
// changes what they are made with.
func TestEachSettingOfTheEdgeArrives(t *testing.T) {
	made := func(f *config.File) [2]any {
		p, s := proxyConfig(f, nil, nil), serverConfig(f, nil)
		p.Rewrite = nil // functions compare to nothing
		return [2]any{p, s}
	}
	for _, section := range []string{"Proxy", "Server", "Identity"} {
		f := config.Default()
		eachLeaf(reflect.ValueOf(f).Elem().FieldByName(section), section, func(name string, leaf reflect.Value) {
			if section == "Identity" && name != "Identity.TrustedProxies" {
				return
			}
			before := made(f)
			old := reflect.ValueOf(leaf.Interface())
			change(t, leaf)
			if reflect.DeepEqual(made(f), before) {
				t.Errorf("%s does not arrive", name)
			}
			leaf.Set(old)
		})
	}
}

func eachLeaf(v reflect.Value, name string, visit func(string, reflect.Value)) {
	if v.Kind() != reflect.Struct {
		visit(name, v)
		return
	}
	for i := range v.NumField() {
		eachLeaf(v.Field(i), name+"."+v.Type().Field(i).Name, visit)
	}
}

func change(t *testing.T, leaf reflect.Value) {
	t.Helper()
	switch leaf.Kind() {
	case reflect.Bool:
		leaf.SetBool(!leaf.Bool())
	case reflect.Int, reflect.Int64:
		leaf.SetInt(leaf.Int() + 1)
	case reflect.String:
		leaf.SetString(leaf.String() + "x")
	case reflect.Slice:
		extra := reflect.New(leaf.Type().Elem()).Elem()
		if extra.Kind() == reflect.String {
			extra.SetString("other")
		} else {
			extra.Set(reflect.ValueOf(netip.MustParsePrefix("192.0.2.0/24")))
		}
		leaf.Set(reflect.Append(leaf, extra))
	default:
		t.Fatalf("no way to change a %v", leaf.Type())
	}
}

// The built-in configuration is what the proxy does by itself, so that a
// reader of either finds the same.
func TestTheDefaultsOfTheFileAndOfTheProxyAgree(t *testing.T) {
	f := config.Default()
	f.Upstream = "http://127.0.0.1:9"
	if _, err := proxy.New(proxyConfig(f, nil, nil)); err != nil {
		t.Error(err)
	}
	if c := serverConfig(f, nil); c.Grace != 30*time.Second || c.ReadTimeout != 0 {
		t.Errorf("server %+v", c)
	}
	f.Server.Grace, f.Proxy.Timeouts.Silence = 0, 0
	if serverConfig(f, nil).Grace >= 0 || proxyConfig(f, nil, nil).Timeouts.Silence >= 0 {
		t.Error("0s in the file must be no bound, and no grace")
	}
}

func TestTheHeadersThatAreOursAreReserved(t *testing.T) {
	f := config.Default()
	if got := reserved(&f.Priority); len(got) != 1 || got[0] != "X-Request-Criticality" {
		t.Errorf("reserved: %v", got)
	}
	f.Priority.TimeoutHeader = "X-Request-Timeout"
	if got := reserved(&f.Priority); len(got) != 2 || got[1] != "X-Request-Timeout" {
		t.Errorf("reserved: %v", got)
	}
}
