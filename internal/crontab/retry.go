package crontab

import "time"

// retryWaits are the waits after the first, second and every later failure in a row: a disk that was
// full for a minute costs no night, and a service that is down for a day is not asked all the time.
var retryWaits = [...]time.Duration{10 * time.Minute, time.Hour, 4 * time.Hour}

// RetryWait returns how long after its end a run by a schedule is tried again that has failed, as
// the last of so many in a row, unless its next time comes first.
func RetryWait(failures int) time.Duration {
	return retryWaits[min(max(failures, 1), len(retryWaits))-1]
}
