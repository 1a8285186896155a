package config

import (
	"reflect"
)

// Overlay changes a file after it was read and before it is validated, and
// reports what it could not change.
type Overlay func(f *File) Errors

// variable is an environment variable and the key that it sets.
type variable struct {
	name, path string
	set        func(f *File) any // a pointer to the field
}

// variables is the whole list: where to listen, what to reach and how much to
// say, which differ from one place of a deployment to another. Policy is not
// among them, so that the file alone says how a service is protected.
//
// None is called PLIMSOLL_PORT…, PLIMSOLL_SERVICE…: Kubernetes sets those by
// itself beside a service of our name.
var variables = []variable{
	{"PLIMSOLL_LISTEN", "listen", func(f *File) any { return &f.Listen }},
	{"PLIMSOLL_UPSTREAM", "upstream", func(f *File) any { return &f.Upstream }},
	{"PLIMSOLL_ADMIN_LISTEN", "admin.listen", func(f *File) any { return &f.Admin.Listen }},
	{"PLIMSOLL_LOG_LEVEL", "log.level", func(f *File) any { return &f.Log.Level }},
	{"PLIMSOLL_STORE_DSN", "store.redis.dsn", func(f *File) any {
		f.Store.Redis.Addresses = nil // it replaces them
		return &f.Store.Redis.DSN
	}},
	{"PLIMSOLL_STORE_PASSWORD", "store.redis: the password", func(f *File) any { return &f.Store.Redis.Password }},
	{"PLIMSOLL_STORE_SENTINEL_PASSWORD", "store.redis: the sentinels' password", func(f *File) any { return &f.Store.Redis.SentinelPassword }},
}

// EnvironmentVariables lists the variables that Environment reads, each with
// the key that it sets.
func EnvironmentVariables() (names, paths []string) {
	for _, v := range variables {
		names, paths = append(names, v.name), append(paths, v.path)
	}
	return names, paths
}

// Environment is the overlay of the variables that lookup, such as
// os.LookupEnv, knows. An empty variable counts as not set.
func Environment(lookup func(name string) (value string, ok bool)) Overlay {
	return func(f *File) (problems Errors) {
		for _, v := range variables {
			text, ok := lookup(v.name)
			if !ok || text == "" {
				continue
			}
			if problem := setWord(v.set(f), text); problem != "" {
				problems = append(problems, Problem{File: "environment", Path: v.name, Message: problem})
			}
		}
		return problems
	}
}

// setWord stores a word in a field of a type that is written as one.
func setWord(field any, text string) string {
	v := reflect.ValueOf(field).Elem()
	s := scalars[v.Type()]
	parsed, err := s.parse(text)
	if err != nil {
		return allowed(err.Error(), s.right)
	}
	v.Set(reflect.ValueOf(parsed))
	return ""
}
