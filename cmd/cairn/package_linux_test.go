package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// packaged makes the archive and the Debian package of a program that is none, and returns their folder.
func packaged(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	pages := filepath.Join(dir, "pages")
	out := filepath.Join(dir, "out")
	check.NoError(t, os.Mkdir(out, 0o755))
	for _, sub := range []string{"man", "bash", "zsh", "fish"} {
		check.NoError(t, os.MkdirAll(filepath.Join(pages, sub), 0o755))
	}
	for name, text := range map[string]string{
		"program": "#!/bin/sh\n", "LICENSES.txt": "MIT\n",
		"pages/man/cairn.1": ".TH\n", "pages/bash/cairn": "#\n", "pages/zsh/_cairn": "#\n", "pages/fish/cairn.fish": "#\n",
	} {
		check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700)) // as a umask of 077 leaves them
	}
	cmd := exec.Command(checkout+"/deploy/package.sh", filepath.Join(dir, "program"), pages, filepath.Join(dir, "LICENSES.txt"), version, "linux/arm64", out)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", "QUICK=1", "TMPDIR="+t.TempDir())
	said, err := cmd.CombinedOutput()
	check.Require(t, err == nil, "%v: %s", err, said)
	return out
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	return string(check.Must(cmd.Output())(t))
}

func needPackager(t *testing.T) {
	t.Helper()
	check.SkipUnderRace(t)
	t.Parallel()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("there is no dpkg-deb")
	}
	if exec.Command("git", "-C", checkout, "rev-parse", "HEAD").Run() != nil {
		t.Skip("the sources are not in a repository")
	}
}

func TestPackagesHaveTheirFiles(t *testing.T) {
	needPackager(t)
	out := packaged(t, "v1.2.0")
	form := regexp.MustCompile(`(?m)^(\S+) (?:0/0|root/root) +\d+ 2023-11-14 22:13 (\S+)$`) // every file has the owner and the time
	list := func(listing string) (files []string) {
		for line := range strings.Lines(listing) {
			found := form.FindStringSubmatch(strings.TrimSpace(line))
			check.Require(t, found != nil, "got the entry %s", line)
			if !strings.HasSuffix(found[2], "/") {
				files = append(files, found[1]+" "+found[2])
			}
		}
		return files
	}
	const run, data = "-rwxr-xr-x ", "-rw-r--r-- "
	in := "cairn-v1.2.0-linux-arm64/"
	check.EqualAll(t, "the archive", list(output(t, "tar", "-tzvf", filepath.Join(out, "cairn-v1.2.0-linux-arm64.tar.gz"))), []string{
		data + in + "LICENSE", data + in + "LICENSES.txt", data + in + "README.md", run + in + "cairn", data + in + "cairn.service",
		data + in + "completions/bash/cairn", data + in + "completions/fish/cairn.fish", data + in + "completions/zsh/_cairn",
		data + in + "config.toml", data + in + "man/man1/cairn.1",
	})
	file := filepath.Join(out, "cairn_1.2.0_arm64.deb")
	check.EqualAll(t, "the package", list(output(t, "dpkg-deb", "-c", file)), []string{
		data + "./etc/cairn/config.toml", run + "./usr/bin/cairn", data + "./usr/lib/systemd/system/cairn.service", data + "./usr/lib/sysusers.d/cairn.conf",
		data + "./usr/share/bash-completion/completions/cairn", data + "./usr/share/doc/cairn/LICENSES.txt.gz", data + "./usr/share/doc/cairn/README.md", data + "./usr/share/doc/cairn/changelog.gz",
		data + "./usr/share/doc/cairn/copyright", data + "./usr/share/fish/vendor_completions.d/cairn.fish", data + "./usr/share/lintian/overrides/cairn",
		data + "./usr/share/man/man1/cairn.1.gz", data + "./usr/share/zsh/vendor-completions/_cairn",
	})
	check.Contains(t, "control", output(t, "dpkg-deb", "-f", file), "Package: cairn\nVersion: 1.2.0\nArchitecture: arm64\n")
	check.Equal(t, "conffiles", output(t, "dpkg-deb", "-I", file, "conffiles"), "/etc/cairn/config.toml\n")
	root := t.TempDir()
	output(t, "dpkg-deb", "-x", file, root)
	unit := read(t, root+"/usr/lib/systemd/system/cairn.service")
	check.Contains(t, "the unit", unit, "\nExecStart=/usr/bin/cairn run ", "\nUser=cairn\n", "\nStateDirectory=cairn\n")
	check.Lacks(t, "the unit", unit, "DynamicUser", "/usr/local")
	check.Contains(t, "the users", read(t, root+"/usr/lib/sysusers.d/cairn.conf"), "\nu cairn - ")
}

func TestPackagesAreReproducible(t *testing.T) {
	needPackager(t)
	first := packaged(t, "v1.2.0")
	second := packaged(t, "v1.2.0")
	for _, name := range []string{"cairn-v1.2.0-linux-arm64.tar.gz", "cairn_1.2.0_arm64.deb"} {
		check.That(t, read(t, filepath.Join(first, name)) == read(t, filepath.Join(second, name)), "two of %s differ", name)
	}
}

// TestPackagesHaveAnOrder compares the versions of packages as dpkg does.
func TestPackagesHaveAnOrder(t *testing.T) {
	needPackager(t)
	var versions []string
	for _, version := range []string{"e080534f", "v0.9.0-rc.1", "v0.9.0", "v0.9.0-3-gabc1234", "v0.10.0-rc.1", "v0.10.0-rc.1-2-gabc1234", "v0.10.0"} {
		files := check.Must(filepath.Glob(filepath.Join(packaged(t, version), "*.deb")))(t)
		check.Len(t, "packages", files, 1)
		versions = append(versions, strings.TrimSpace(output(t, "dpkg-deb", "-f", files[0], "Version")))
	}
	for i, newer := range versions[1:] {
		check.NoError(t, exec.Command("dpkg", "--compare-versions", versions[i], "lt", newer).Run())
	}
	check.That(t, slices.Contains(versions, "0.9.0+3.gabc1234"), "got %q", versions)
}
