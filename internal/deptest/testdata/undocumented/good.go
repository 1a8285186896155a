package good

// Documented is.
type Documented struct{ Field int }

// Method is.
func (d *Documented) Method() {}

func (d *Documented) Bare() {}

type hidden struct{}

func (hidden) String() string { return "" }

// A group's comment is nobody's type comment.
type (
	InGroup int

	// OwnComment is.
	OwnComment int
)

// The constants.
const (
	One = 1
	Two = 2
)

const Three = 3

var Four = 4 // a trailing comment counts

func Five() {}

// Config sets something.
type Config struct {
	Commented int // in a line
	// Above has one.
	Above int
	Bare  int
	own   int
}

// Of is generic.
type Of[T any] struct{}

func (o *Of[T]) Six() {}
