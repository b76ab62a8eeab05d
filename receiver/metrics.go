package receiver

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	deliveriesDesc = prometheus.NewDesc("minutebook_receiver_deliveries_total",
		"Deliveries and callbacks answered 200 since the start, by whether they were new.", []string{"was"}, nil)
	refusedDesc = prometheus.NewDesc("minutebook_receiver_refused_total",
		"Requests refused since the start, by the status of the answer.", []string{"status"}, nil)
)

// Describe implements prometheus.Collector.
func (r *Receiver) Describe(out chan<- *prometheus.Desc) {
	out <- deliveriesDesc
	out <- refusedDesc
}

// Collect implements prometheus.Collector with the numbers of [Receiver.Counts].
func (r *Receiver) Collect(out chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n int64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
	}
	c := r.Counts()
	counter(deliveriesDesc, c.Accepted, "new")
	counter(deliveriesDesc, c.Duplicates, "known")
	for status, n := range c.Refused {
		counter(refusedDesc, n, strconv.Itoa(status))
	}
}
