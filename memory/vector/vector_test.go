package vector_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cairn/memory/vector"
	"cairn/testkit/check"
)

func TestQuantize(t *testing.T) {
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	for name, v := range map[string][]float32{"empty": nil, "without a direction": {0, 0}, "not a number": {nan, nan}, "infinite": {1, inf}} {
		check.That(t, vector.Quantize(v) == nil, "%s: got %v", name, vector.Quantize(v))
	}
	check.EqualAll(t, "signed bytes", vector.Quantize([]float32{0.5, -1, 0}), []byte{64, 129, 0})
}

// wide returns vectors whose differences lie in a few directions, beside a mean and noise in all.
func wide(n, length, directions int) (all [][]float32) {
	random := rand.New(rand.NewPCG(3, 4))
	axes := make([][]float32, directions+1)
	for i := range axes {
		axes[i] = make([]float32, length)
		for j := range axes[i] {
			axes[i][j] = float32(random.NormFloat64())
		}
	}
	for range n {
		v := make([]float32, length)
		for j := range v {
			v[j] = 2*axes[directions][j] + 0.05*float32(random.NormFloat64())
		}
		for _, axis := range axes[:directions] {
			along := float32(random.NormFloat64())
			for j := range v {
				v[j] += along * axis[j]
			}
		}
		all = append(all, v)
	}
	return all
}

func cosine(a, b []float32) float64 {
	var product, ofA, ofB float64
	for i := range a {
		product += float64(a[i] * b[i])
		ofA += float64(a[i] * a[i])
		ofB += float64(b[i] * b[i])
	}
	return product / math.Sqrt(ofA*ofB)
}

func TestCosine(t *testing.T) {
	all := wide(40, 128, 8)
	for i := range all[1:] {
		got := vector.Cosine(vector.Quantize(all[i]), vector.Quantize(all[i+1]))
		want := cosine(all[i], all[i+1])
		check.That(t, math.Abs(got-want) < 0.01, "got %v, want %v", got, want)
	}
	check.Equal(t, "of different lengths", vector.Cosine([]byte{1, 2}, []byte{1}), 0.0)
	check.Equal(t, "without a direction", vector.Cosine([]byte{1, 2}, []byte{0, 0}), 0.0)
}

func never() bool { return false }

// A projection on as many directions as the vectors have, with their mean, keeps the angles between them.
func TestProjection(t *testing.T) {
	const directions = 6
	all := wide(300, 64, directions)
	var bytes [][]byte
	for _, v := range all {
		bytes = append(bytes, vector.Quantize(v))
	}
	p := vector.Fit(bytes, directions+1, never)
	kept := vector.Decode(p.Encode())
	for i := range all[1:] {
		got := vector.Cosine(vector.Quantize(kept.Apply(all[i])), kept.ApplyQuantized(bytes[i+1]))
		want := cosine(all[i], all[i+1])
		check.That(t, math.Abs(got-want) < 0.03, "%d: got %v, want %v", i, got, want)
	}
	check.That(t, kept.Apply(all[0][1:]) == nil, "a vector of another length has a projection")
	check.That(t, vector.Fit(bytes[:3], 4, never) == nil && vector.Fit(bytes, 65, never) == nil, "fitted on too few")
	check.That(t, vector.Fit(bytes, 4, func() bool { return true }) == nil, "it does not stop")
	for _, raw := range [][]byte{nil, {1}, {4, 0, 0, 0}, append(p.Encode(), 0), make([]byte, 12)} {
		check.That(t, vector.Decode(raw) == nil, "decoded %d bytes", len(raw))
	}
}

func BenchmarkCosine(b *testing.B) {
	all := wide(2, 128, 8)
	x, y := vector.Quantize(all[0]), vector.Quantize(all[1])
	for b.Loop() {
		vector.Cosine(x, y)
	}
}
