// Package storetest judges a store.Driver by the contract: each case carries
// the sentence of the rule that it checks, and random histories compare the
// driver with a plain model in big integers and maps.
//
// A driver's own test is a few lines:
//
//	func TestDriver(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			return storetest.Harness{Driver: newDriver(t)}
//		})
//	}
//
// Cases use owners of their own, so one driver can serve them all, one after
// the other. Run them with -race.
package storetest
