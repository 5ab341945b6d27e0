package privacy

var ErrNobody = errNobody
