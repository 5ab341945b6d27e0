package privacy

// Functions for the external tests of this package.

var ErrNobody = errNobody
