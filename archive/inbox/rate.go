package inbox

// busyRate is the number of deliveries within a second or two above which work that can wait
// should leave the machine to them.
const busyRate = 50

// Busy reports whether deliveries come so fast that work which can wait should.
func (i *Inbox) Busy() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.rate.recent(i.now().Unix()) > busyRate
}

// rate counts events of the second that is running and of the one before.
type rate struct {
	second        int64
	running, last int
}

func (r *rate) count(second int64, n int) {
	r.advance(second)
	r.running += n
}

func (r *rate) recent(second int64) int {
	r.advance(second)
	return r.running + r.last
}

func (r *rate) advance(second int64) {
	switch {
	case second == r.second:
		return
	case second == r.second+1:
		r.last = r.running
	default:
		r.last = 0
	}
	r.second, r.running = second, 0
}
