// Package years simulates years of an archive's life, for tests only: a service
// with people who use it, an unreliable network, a machine that is killed, and an
// oracle that compares the archive with everything the service has shown.
//
//	seed_test.go      draws of a seed, and the journal
//	org_test.go       the people and meetings at the service
//	app_test.go       the OAuth app at the service, and the tokens that it was given
//	consent_test.go   people who allow it, tokens that are lost, keys that are revoked
//	upstream_test.go  the real service as a sandbox, and who calls it
//	weather_test.go   faults of the network and of answers
//	rewrite_test.go   answers within the habits of the service and the storm
//	shift_test.go     pages of a list that shift in the middle of a walk
//	lacks_test.go     members that a kind of call lacks for an account
//	edges_test.go     ids, lengths, offsets and times at their edges
//	address_test.go   people's addresses, which change and are given to others
//	strange_test.go   redirects, wrong types, odd headers and spellings
//	sender_test.go    the service's webhooks to the receiver
//	relay_test.go     the archive's own webhooks, and the people who receive them
//	scopes_test.go    their scopes: who is sent which meetings, with which content
//	owed_test.go      that they are sent each meeting that they have to be
//	house_test.go     the program: archive, sync and receiver, started and killed
//	tasks_test.go     the commands that a person gives, and how their answers are judged
//	pair_test.go      two of them at once
//	commands_test.go  commands and upkeep, through control as the daemon answers them
//	notes_test.go     people's notes
//	seal_test.go      the key of encrypted backups and exports
//	rules_test.go     the rules of retention, and the recordings that they delete
//	memory_test.go    the memory that the program keeps
//	trouble_test.go   locked databases, one failing commit, others with the same key, an old archive
//	follower_test.go  a copy of the archive by its change log
//	slow_test.go      a slow disk
//	disk_test.go      that a sick disk and kills reach every commit
//	plan_test.go      the history of a seed as a list of events
//	acts_test.go      events: the acts of people and of the person at the keyboard
//	keeper_test.go    likewise, stops, kills, clocks, configurations, backups and restores
//	transfer_test.go  imports of other programs' recordings, and exports
//	oracle_test.go    the versions shown, to whom, and the acknowledged deliveries
//	waste_test.go     the calls of calm nights
//	members_test.go   titles, sharing, recorders and invitees that were shown
//	rights_test.go    who sees nothing, and who has to see without an account
//	limits_test.go    lowered limits that the program was told
//	variety_test.go   seeds from 30000 on: parts of their own time, more edits and shares, people who join
//	crm_test.go       likewise, CRM matches by team
//	haste_test.go     many meetings at once, by the limits
//	recovery_test.go  likewise, after a trouble that held up the work
//	checks_test.go    the properties that must hold, and when
//	residue_test.go   that nothing is left of forgotten meetings and of secrets
//	answers_test.go   after a year: searches and counts, for each person
//	past_test.go      likewise, the answers of an index that followed the archive through the year
//	world_test.go     one run of a seed
//	live_test.go      its history, from the first day to the last check
//	bucket_test.go    recordings in a bucket, and the faults of its server
//	objects_test.go   that server
//	keys_test.go      API keys and webhook secrets, which no log may have
//	secrets_test.go   likewise, no answer, event or error of a command, message or metric
//	order*_test.go    one order of goroutines, whatever the machine's speed
//	shrink_test.go    the shortest history that still fails, as a story
//	planted_test.go   that a planted fault comes back and is shrunk
//	corpus_test.go    the seeds that once failed, and those of the day
//	years_test.go     make simulate
//
// One seed decides everything: the same seed draws the same history. Time is
// virtual (testing/synctest). Acts and faults that came later happen from some seed on, from
// firstWide (4900) to firstSlipping (50000), so that the histories of the seeds before, some of
// which once failed, stay as they were.
package years
