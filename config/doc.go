// Package config reads config.toml.
//
// Values come from three places, and a later one replaces an earlier one: the
// defaults, the file, the environment. The file is decoded strictly: an unknown
// key is an error that names the key, its line and its column, because a misspelt
// setting that is silently ignored leaves an archive incomplete. Validation
// happens once, in [Load], so that the rooms above may trust a [Config].
//
//	config*.go            the settings and their defaults
//	load.go, sources.go   the file and the environment; where a value comes from
//	validate*.go          values that make no sense
//	describe.go, keys.go  mistakes as sentences, with the nearest key
//	reload.go             settings that take effect without a restart
//	added.go              accounts.toml: the accounts that were added on the page
//	datadir.go            the data directory, also of a file with mistakes
//	listen.go, variables.go  addresses to listen on; the environment's variables
//
// Only accounts.toml is written here, and it is replaced as a whole. Nothing is kept
// between calls: a crash has nothing to lose.
package config
