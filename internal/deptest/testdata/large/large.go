package large

// Long is above the limit.
func Long() {
	_ = 0
	_ = 1
	_ = 2
	_ = 3
	_ = 4
	_ = 5
	_ = 6
	_ = 7
	_ = 8
	_ = 9
	_ = 10
	_ = 11
	_ = 12
	_ = 13
	_ = 14
	_ = 15
	_ = 16
	_ = 17
	_ = 18
	_ = 19
	_ = 20
	_ = 21
	_ = 22
	_ = 23
	_ = 24
	_ = 25
	_ = 26
	_ = 27
	_ = 28
	_ = 29
	_ = 30
	_ = 31
	_ = 32
	_ = 33
	_ = 34
	_ = 35
	_ = 36
	_ = 37
	_ = 38
	_ = 39
	_ = 40
	_ = 41
	_ = 42
	_ = 43
	_ = 44
	_ = 45
	_ = 46
	_ = 47
	_ = 48
	_ = 49
	_ = 50
	_ = 51
	_ = 52
	_ = 53
	_ = 54
	_ = 55
	_ = 56
	_ = 57
	_ = 58
	_ = 59
	_ = 60
	_ = 61
	_ = 62
	_ = 63
	_ = 64
	_ = 65
	_ = 66
	_ = 67
	_ = 68
	_ = 69
	_ = 70
	_ = 71
}

// Argued is a table.
//
//figures:large a flat table, one line a case
func Argued() {
	_ = 0
	_ = 1
	_ = 2
	_ = 3
	_ = 4
	_ = 5
	_ = 6
	_ = 7
	_ = 8
	_ = 9
	_ = 10
	_ = 11
	_ = 12
	_ = 13
	_ = 14
	_ = 15
	_ = 16
	_ = 17
	_ = 18
	_ = 19
	_ = 20
	_ = 21
	_ = 22
	_ = 23
	_ = 24
	_ = 25
	_ = 26
	_ = 27
	_ = 28
	_ = 29
	_ = 30
	_ = 31
	_ = 32
	_ = 33
	_ = 34
	_ = 35
	_ = 36
	_ = 37
	_ = 38
	_ = 39
	_ = 40
	_ = 41
	_ = 42
	_ = 43
	_ = 44
	_ = 45
	_ = 46
	_ = 47
	_ = 48
	_ = 49
	_ = 50
	_ = 51
	_ = 52
	_ = 53
	_ = 54
	_ = 55
	_ = 56
	_ = 57
	_ = 58
	_ = 59
	_ = 60
	_ = 61
	_ = 62
	_ = 63
	_ = 64
	_ = 65
	_ = 66
	_ = 67
	_ = 68
	_ = 69
	_ = 70
	_ = 71
}

// Lazy gives no reason worth the name.
//
//figures:large because
func Lazy() {
	_ = 0
	_ = 1
	_ = 2
	_ = 3
	_ = 4
	_ = 5
	_ = 6
	_ = 7
	_ = 8
	_ = 9
	_ = 10
	_ = 11
	_ = 12
	_ = 13
	_ = 14
	_ = 15
	_ = 16
	_ = 17
	_ = 18
	_ = 19
	_ = 20
	_ = 21
	_ = 22
	_ = 23
	_ = 24
	_ = 25
	_ = 26
	_ = 27
	_ = 28
	_ = 29
	_ = 30
	_ = 31
	_ = 32
	_ = 33
	_ = 34
	_ = 35
	_ = 36
	_ = 37
	_ = 38
	_ = 39
	_ = 40
	_ = 41
	_ = 42
	_ = 43
	_ = 44
	_ = 45
	_ = 46
	_ = 47
	_ = 48
	_ = 49
	_ = 50
	_ = 51
	_ = 52
	_ = 53
	_ = 54
	_ = 55
	_ = 56
	_ = 57
	_ = 58
	_ = 59
	_ = 60
	_ = 61
	_ = 62
	_ = 63
	_ = 64
	_ = 65
	_ = 66
	_ = 67
	_ = 68
	_ = 69
	_ = 70
	_ = 71
}

// Many has too many parameters.
func Many(a, b, c int, d, e, f string) {}

// Fits has five.
func Fits(a, b, c, d, e int) {}

// Flag takes a bool.
func Flag(on bool) {}

func quiet(on bool) {}

type wide interface {
	A()
	B()
	C()
	D()
	E()
}

// narrow has few.
type narrow interface{ A() }

// argued has a reason.
//
//figures:large the methods of http.ResponseWriter and its friends
type argued interface {
	A()
	B()
	C()
	D()
	E()
}
