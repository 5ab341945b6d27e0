package privacy

// For the tests of other packages' kind.

var ErrNobody = errNobody
