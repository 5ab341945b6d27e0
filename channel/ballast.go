package channel

// Ballast is to be kept alive while a hub runs. The live heap of a bot with few channels is
// some megabytes, so that Go would collect it after each few megabytes of garbage, which a
// handful of requests of full windows are: it took a tenth of a turn's processor time. With
// 32 MB more to count, it collects when that much garbage has come. Nobody ever touches
// them, so they lie in no memory; what the heap holds at most grows by as much.
func Ballast() []byte { return make([]byte, 32<<20) }
