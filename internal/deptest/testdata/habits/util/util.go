package util

type limiterImpl struct{}
