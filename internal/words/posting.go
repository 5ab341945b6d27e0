package words

// Posting is a document in which a term occurs.
type Posting struct {
	Document int64
	Count    int // of the term
	Length   int // of the document, in terms
}
