package bare

type Settings struct{}
