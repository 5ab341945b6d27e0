package privacy

var Purged = purged
