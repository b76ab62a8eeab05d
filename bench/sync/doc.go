// Package sync measures the sync against the real service in virtual time: what
// would take hours passes in seconds, and every call is counted. The figures are
// printed by
//
//	go test ./bench/sync -figures -v
//
// and are checked, smaller, by the tests of package syncer.
package sync
