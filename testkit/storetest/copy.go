package storetest

import (
	"io/fs"
	"os"
	"slices"
)

// CopyFolder copies a data folder, without the socket of the bot that has it, or was killed.
func CopyFolder(to, from string) error {
	return os.CopyFS(to, withoutSockets{os.DirFS(from).(fs.ReadDirFS)})
}

type withoutSockets struct{ fs.ReadDirFS }

func (f withoutSockets) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := f.ReadDirFS.ReadDir(name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 }), err
}
