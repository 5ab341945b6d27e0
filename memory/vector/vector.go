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

// Cosine returns the cosine of the angle between two quantized vectors, from -1 to 1; 0 if their lengths differ or one is zero.
func Cosine(a, b []byte) float64 {
	norms := Norm(a) * Norm(b)
	if len(a) != len(b) || norms == 0 {
		return 0
	}
	return float64(product(a, b)) / norms
}

// Norm returns the length of a quantized vector.
func Norm(v []byte) float64 { return math.Sqrt(float64(product(v, v))) }

// Nearness returns the cosines of a quantized vector with others that stand one after the other, whose norms are known: of many, a third of
// the work of Cosine.
func Nearness(to, all []byte, norms []float64) []float64 {
	cosines := make([]float64, len(norms))
	norm := Norm(to)
	for i, of := range norms {
		v := all[i*len(to) : (i+1)*len(to)]
		if norm != 0 && of != 0 {
			cosines[i] = float64(product(to, v)) / (norm * of)
		}
	}
	return cosines
}

func product(a, b []byte) (sum int32) {
	for i := range a {
		sum += int32(int8(a[i])) * int32(int8(b[i]))
	}
	return sum
}
