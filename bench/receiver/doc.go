// Command receiver measures the receiver: how many deliveries it acknowledges,
// beside the same server and verification without storing, with a file that is appended
// to and synced, and with a bare SQLite table; how long
// an acknowledgement takes at half that load, also while the archive is filled
// and the index rebuilt; how long until a delivery is found; whether the time of a refusal
// tells of accounts; how it bears a thousand slow connections; and how much
// memory it takes.
//
// The server runs in a process of its own, the senders in this one, both on the
// same cores: absolute numbers say little, only the ratios count.
//
// The servers run as the daemon does with memory_limit_bytes of 144 MiB; see
// -memory.
//
//	go run ./bench/receiver
package main
