// Who may read and write the files of the settings.

package config

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Permissions of others, neither the owner nor the group.
const (
	othersRead  = 0o004
	othersWrite = 0o002
)

// mountedSecrets are folders in which Docker and Kubernetes place secrets, readable for everybody in the container.
var mountedSecrets = []string{"/run/secrets", "/var/run/secrets"}

// checkFiles warns of a settings file that others may write, because it names programs that Cairn starts.
func (c *checker) checkFiles() {
	for _, s := range c.s.sources {
		if permissions(s.file)&othersWrite != 0 {
			text := "every user of this machine may write this file, which names programs to start: chmod o-w " + s.file
			c.report.warnFile(s.file, text)
		}
	}
}

// checkSecretFile warns if the setting at path names a file, "file:NAME", that others may read or write.
func (c *checker) checkSecretFile(path, setting string) {
	name, isFile := strings.CutPrefix(setting, "file:")
	if !isFile {
		return
	}
	file := c.s.Path(name)
	isMounted := slices.ContainsFunc(mountedSecrets, func(folder string) bool { return strings.HasPrefix(file, folder+"/") })
	if !isMounted && permissions(file)&(othersRead|othersWrite) != 0 {
		c.report.warn(path, fmt.Sprintf("%s: every user of this machine may read or write the file: chmod o-rw %s", base(path), file))
	}
}

// permissions returns the permissions of a file; none if there is no such file, or on Windows, whose files have others.
func permissions(path string) os.FileMode {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" {
		return 0
	}
	return info.Mode().Perm()
}
