// Package cloudwatchtest is a stand-in for CloudWatch that answers on loopback.
//
//	Go SDK ──── rpcv2Cbor ───┐
//	JS SDK ──── awsJson1_0 ──┼─▶ one model: series ─▶ buckets ─▶ statistics
//	botocore ── awsQuery ────┘                 ▲
//	                             delays, growth, nodes, faults
//
// It knows GetMetricData, PutMetricData and ListMetrics, and the ways in which
// the real service misleads a reader: points that come late, a newest bucket
// that still grows, zeros that are never published, data that is partial, and
// answers that are refused, cut, empty or never come. It does no metric math.
//
// Tests use it, and so does the demo. It checks no signatures, keeps nothing,
// and listens on 127.0.0.1 alone.
package cloudwatchtest
