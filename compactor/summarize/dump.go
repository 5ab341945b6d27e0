package summarize
import "fmt"
func (j *Judge) Dump() string { e := j.evidence(); s := ""; for _, p := range e.passages { s += fmt.Sprintln(p.seqs, p.author, p.text) }; return s }
