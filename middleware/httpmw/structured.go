package httpmw

// The part of RFC 9651 that the fields need: writing Tokens and Strings, and
// finding a name in a List that somebody else wrote.

// appendToken appends a Token, or a String where the text is none.
func appendToken(b []byte, s string) []byte {
	for i, c := range []byte(s) {
		if !isTokenByte(c, i == 0) {
			return appendString(b, s)
		}
	}
	if s == "" {
		return appendString(b, s)
	}
	return append(b, s...)
}

func isTokenByte(c byte, first bool) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '*'
	if letter || first {
		return letter
	}
	switch c {
	case '!', '#', '$', '%', '&', '\'', '+', '-', '.', '^', '_', '`', '|', '~', ':', '/':
		return true
	}
	return c >= '0' && c <= '9'
}

// appendString appends a String. Bytes that no String may hold become ?.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = append(b, '?')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// lists reports whether a List has a String or Token of a name, given as a
// String is written, or cannot be read, as an empty line beside others cannot.
func lists(lines []string, name []byte) bool {
	for _, line := range lines {
		for more := true; more; more = line != "" {
			member, rest, ok := cutMember(line)
			if !ok || member == "" || same(member, name) {
				return true
			}
			line = rest
		}
	}
	return false
}

// cutMember splits off the first member of a List, without its parameters.
func cutMember(line string) (member, rest string, ok bool) {
	for line != "" && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	quoted, end := false, -1
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';' && end < 0:
			end = i
		case c == ',':
			rest = line[i+1:]
			return line[:cutAt(end, i)], rest, rest != ""
		}
	}
	return line[:cutAt(end, len(line))], "", !quoted
}

func cutAt(end, all int) int {
	if end >= 0 {
		return end
	}
	return all
}

// same compares a member with a String: "name" or name. Blanks around it are
// not part of it.
func same(member string, name []byte) bool {
	for member != "" && (member[len(member)-1] == ' ' || member[len(member)-1] == '\t') {
		member = member[:len(member)-1]
	}
	return member == string(name) || member == string(name[1:len(name)-1])
}
