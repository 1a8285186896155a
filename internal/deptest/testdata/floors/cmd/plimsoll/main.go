package main

import _ "github.com/plimsoll-go/plimsoll/proxy"

func main() {}
