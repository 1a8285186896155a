package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// What the ranges of the file allow, the stages and the edge take: each value
// at an end of its range builds.
func TestEndsOfRangesBuild(t *testing.T) {
	built := 0
	for _, section := range []func(*File) any{
		func(f *File) any { return &f.Identity },
		func(f *File) any { return &f.Exempt },
		func(f *File) any { return &f.Priority },
		func(f *File) any { return &f.Stages[0].RateLimit.Limits[0] },
		func(f *File) any { return &f.Stages[1].Concurrency.Limits[0] },
		func(f *File) any { return f.Stages[2].FleetShed },
		func(f *File) any { return f.Stages[3].WorkerShed },
		func(f *File) any { return &f.Stages[3].WorkerShed.Shares },
		func(f *File) any { return &f.Stages[2].FleetShed.ClassCaps },
	} {
		s := structureOf(reflect.TypeOf(section(Default())).Elem())
		for i := range s.fields {
			f := &s.fields[i]
			for _, end := range []string{f.bounds.lowText, f.bounds.highText} {
				file := Default()
				file.Stages[3].WorkerShed.Shares = Shares{High: 1} // below it anything goes
				file.Stages[2].FleetShed.ClassCaps = ClassCaps{High: 1}
				v := reflect.ValueOf(section(file)).Elem().FieldByIndex(f.index)
				if end == "" || !setEnd(v, end) {
					continue
				}
				built++
				if _, err := Build(file, nil); err != nil && !strings.Contains(err.Error(), "ramp_up") && !strings.Contains(err.Error(), "more than max") && !strings.Contains(err.Error(), "less than what") && !strings.Contains(err.Error(), "only for leaky-bucket") {
					t.Errorf("%s: %s: %v", f.key, end, err)
				}
			}
		}
	}
	if built < 30 {
		t.Errorf("only %d ends were tried", built)
	}
}

func setEnd(v reflect.Value, text string) bool {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(bound(text, v.Type())))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setEnd(v.Elem(), text)
	case v.CanInt():
		v.SetInt(int64(bound(text, v.Type())))
	case v.CanFloat():
		v.SetFloat(bound(text, v.Type()))
	default:
		return false
	}
	return true
}
