// Command plimsoll keeps a service within the load that it can take: it runs
// four stages of load shedding in front of any HTTP service, and shows what
// they do.
//
// It exits with 0 when it did what was asked, with 1 when it could not or when
// the answer is no (a faulty configuration, a claim that did not hold, a
// process that is not ready), and with 2 when it was not called rightly.
package main

import "os"

func main() { os.Exit(run(os.Args[1:])) }
