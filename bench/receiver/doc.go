// Command receiver measures the receiver: how many deliveries it acknowledges,
// beside what the same server and verification reach without storing; how long
// an acknowledgement takes at half that load, also while the archive is filled
// and the index rebuilt; how long until it is found; whether the time of a refusal
// tells of accounts; what a thousand slow connections do to it; and how much
// memory it takes.
//
// The server runs in a process of its own, the senders in this one, both on the
// same cores: absolute numbers say little, the ratios are what counts.
//
// The servers run as the daemon does with memory_limit_bytes of 144 MiB; see
// -memory.
//
//	go run ./bench/receiver
package main
