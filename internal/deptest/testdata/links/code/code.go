package code

type Door struct{}

func (d *Door) Open() {}

func knock() {}
