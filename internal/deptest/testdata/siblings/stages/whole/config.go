package whole

type Config struct{}
