// Projections: vectors of fewer numbers that keep the angles between texts.

package vector

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// Projection maps vectors to shorter ones, which have nearly the same angles. It keeps the directions in which the vectors that it was
// fitted on extend the furthest. Their mean is not subtracted: that changes the angles, and costs two points of recall.
type Projection struct {
	axes [][]float32 // orthonormal
}

// rounds of orthogonal iteration: the components that matter converge in the first few.
const rounds = 8

// Fit returns the projection on size directions, by orthogonal iteration; nil if there are fewer vectors, or numbers in them. It takes
// about 3 s for 2000 vectors of 768 numbers; stop ends it early, with nil.
func Fit(vectors [][]byte, size int, stop func() bool) *Projection {
	if len(vectors) < size || size < 1 || len(vectors[0]) < size {
		return nil
	}
	var rows [][]float32
	for _, v := range vectors {
		rows = append(rows, direction(floats(v)))
	}
	p := &Projection{}
	random := rand.New(rand.NewPCG(1, 2)) // the same vectors have the same projection
	for range size {
		axis := make([]float32, len(vectors[0]))
		for i := range axis {
			axis[i] = float32(random.NormFloat64())
		}
		p.axes = append(p.axes, axis)
	}
	orthonormalize(p.axes)
	for range rounds {
		if stop() {
			return nil
		}
		p.iterate(rows)
	}
	return p
}

// iterate multiplies the axes by the second moments of the rows, and makes them orthonormal again.
func (p *Projection) iterate(rows [][]float32) {
	next := make([][]float32, len(p.axes))
	for i, axis := range p.axes {
		next[i] = make([]float32, len(axis))
		for _, row := range rows {
			along := dot(row, axis)
			for j, x := range row {
				next[i][j] += along * x
			}
		}
	}
	orthonormalize(next)
	p.axes = next
}

// orthonormalize makes the axes orthogonal to each other and of length 1, by Gram and Schmidt. What is left of an axis that depends on
// the others is 0.
func orthonormalize(axes [][]float32) {
	for i, axis := range axes {
		before := math.Sqrt(float64(dot(axis, axis)))
		for _, other := range axes[:i] {
			along := dot(axis, other)
			for j, x := range other {
				axis[j] -= along * x
			}
		}
		if math.Sqrt(float64(dot(axis, axis))) < 1e-4*before {
			clear(axis)
			continue
		}
		copy(axis, direction(axis))
	}
}

func dot(a, b []float32) (sum float32) {
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// direction returns a vector of length 1; one without a direction stays as it is.
func direction(v []float32) []float32 {
	length := float32(math.Sqrt(float64(dot(v, v))))
	if length == 0 {
		return v
	}
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = x / length
	}
	return unit
}

// floats returns the numbers of a quantized vector.
func floats(v []byte) []float32 {
	all := make([]float32, len(v))
	for i, x := range v {
		all[i] = float32(int8(x))
	}
	return all
}

// Apply returns the projection of a vector; nil if it has another length than those that the projection was fitted on.
func (p *Projection) Apply(v []float32) []float32 {
	if len(v) != len(p.axes[0]) {
		return nil
	}
	short := make([]float32, len(p.axes))
	for i, axis := range p.axes {
		short[i] = dot(v, axis)
	}
	return short
}

// ApplyQuantized is Apply for a quantized vector.
func (p *Projection) ApplyQuantized(v []byte) []byte { return Quantize(p.Apply(floats(v))) }

// Encode returns the projection as bytes, for Decode.
func (p *Projection) Encode() (raw []byte) {
	raw = binary.LittleEndian.AppendUint32(raw, uint32(len(p.axes[0])))
	for _, axis := range p.axes {
		for _, x := range axis {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
	}
	return raw
}

// Decode returns the projection that Encode wrote; nil if it did not write this.
func Decode(raw []byte) *Projection {
	if len(raw) < 4 {
		return nil
	}
	length := int(binary.LittleEndian.Uint32(raw))
	raw = raw[4:]
	if length < 1 || len(raw) == 0 || len(raw)%(4*length) != 0 {
		return nil
	}
	p := &Projection{}
	for len(raw) > 0 {
		axis := make([]float32, length)
		for i := range axis {
			axis[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		p.axes = append(p.axes, axis)
		raw = raw[4*length:]
	}
	return p
}
